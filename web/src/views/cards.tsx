// views/cards.tsx -- knowledge cards: all of them, those that fit a question,
// and one with the text it was made of.
import type { JSX } from "preact";

import { withQuery } from "../api";
import { pulse } from "../live";
import { useLoad } from "../load";
import type { Card, Scrap } from "../model";
import { Link, query, setQuery } from "../router";
import {
  Empty, ErrorNote, Field, Heading, Id, Loading, Text, Time,
} from "../ui";
import { Older } from "./books";

export function Cards(): JSX.Element {
  const q = query.value.get("q") ?? "";
  const path = q ? withQuery("/api/recall", { q, limit: 30 })
    : withQuery("/api/cards", { limit: 30, cursor: query.value.get("cursor") });
  const list = useLoad<{ cards: Card[]; next_cursor?: string | null }>(
    path, q ? undefined : pulse, true);
  const found = list.data.value;
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setQuery({ q: String(form.get("q") ?? "").trim(), cursor: null });
  };
  return (
    <>
      <Heading title="Cards" lead="What was made of scraps." />
      <form class="filters" role="search" onSubmit={search}
            aria-label="Search cards">
        <label class="grow">Similar to
          <Field name="q" value={q} maxLength={1000}
                 placeholder="A question, or a few words" />
        </label>
        <div class="filter-buttons">
          <button>Search</button>
          {q && <button type="button" class="plain" onClick={(event) => {
            event.currentTarget.form?.querySelector("input")?.focus();
            setQuery({ q: null });
          }}>Clear</button>}
        </div>
      </form>
      {list.error.value !== null
        && <ErrorNote error={list.error.value} retry={list.reload} />}
      {!found ? list.error.value === null && <Loading />
        : found.cards.length === 0
          ? <Empty title={q ? "No card is similar" : "No cards yet"}>
              {!q && <p class="quiet">They are made of scraps:{" "}
                <code>POST /api/scraps</code>.</p>}
            </Empty>
          : <ul class="cards-grid">
              {found.cards.map((x) => <CardItem key={x.id} card={x} />)}
            </ul>}
      {found && !q && <Older next={found.next_cursor ?? null} />}
    </>
  );
}

function Tags(props: { tags: string[] }): JSX.Element | null {
  if (props.tags.length === 0)
    return null;
  return (
    <ul class="tags" aria-label="Tags">
      {props.tags.map((x, i) => <li key={i}><Text value={x} /></li>)}
    </ul>
  );
}

function CardItem(props: { card: Card }): JSX.Element {
  const { card } = props;
  return (
    <li class="panel card-item">
      <p class="card-summary"><Link href={`/cards/${card.id}`}>
        <Text class="clamp-5" value={card.summary} /></Link></p>
      <Tags tags={card.tags} />
      <p class="quiet">
        {card.similarity !== undefined
          && <span class="similarity">{Math.round(card.similarity * 100)} %
            similar · </span>}
        <Time at={card.created_at} /> · <Text value={card.model} />
      </p>
    </li>
  );
}

// -- one card -----------------------------------------------------------------

export function CardView(props: { id: string }): JSX.Element {
  const load = useLoad<Card>(`/api/cards/${encodeURIComponent(props.id)}`);
  const card = load.data.value;
  const scrap = useLoad<Scrap>(
    card ? `/api/scraps/${encodeURIComponent(card.scrap_id)}` : "");
  if (!card)
    return (
      <>
        <Heading title="Card" />
        {load.error.value !== null ? <ErrorNote error={load.error.value} />
          : <Loading />}
      </>
    );
  const source = scrap.data.value;
  return (
    <>
      <Heading title="Card" lead={<>
        <Link href="/cards">Cards</Link> / <Id id={card.id} whole /></>} />
      <section class="panel" aria-labelledby="summary">
        <h2 id="summary">Summary</h2>
        <p class="card-text"><Text value={card.summary} /></p>
        <Tags tags={card.tags} />
        <p class="quiet">by <Text value={card.model} />, <Time
          at={card.created_at} />, {card.embedding_dimension} dimensions,{" "}
          <Link href={`/jobs/${card.job_id}`}>its job</Link></p>
      </section>
      <section class="panel" aria-labelledby="scrap">
        <h2 id="scrap">The scrap it was made of</h2>
        {scrap.error.value !== null
          ? <p class="quiet">The scrap is gone.</p>
          : !source ? <Loading />
          : <>
              {source.title && <h3><Text value={source.title} /></h3>}
              {source.url && <p class="quiet"><Text value={source.url} /></p>}
              <p class="card-text"><Text value={source.content} /></p>
            </>}
      </section>
    </>
  );
}
