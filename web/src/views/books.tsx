// views/books.tsx -- picture books: a shelf, and one of them, page by page.
import type { JSX } from "preact";

import { withQuery } from "../api";
import { plural } from "../format";
import { pulse } from "../live";
import { useLoad } from "../load";
import { type Book, isFinal, type Page } from "../model";
import { Picture } from "../picture";
import { Link, query, setQuery } from "../router";
import {
  Bar, Empty, ErrorNote, Heading, Id, Loading, StatusBadge, Text, Time,
} from "../ui";

const pageSize = 24;

export function Books(): JSX.Element {
  const cursor = query.value.get("cursor");
  const list = useLoad<{ contents: Book[]; next_cursor: string | null }>(
    withQuery("/api/contents", { limit: pageSize, cursor }), pulse, true);
  const found = list.data.value;
  return (
    <>
      <Heading title="Books" lead="Picture books, newest first." />
      {list.error.value !== null
        && <ErrorNote error={list.error.value} retry={list.reload} />}
      {!found ? list.error.value === null && <Loading />
        : found.contents.length === 0
          ? <Empty title="No books yet">
              <p class="quiet">They are ordered by{" "}
                <code>POST /api/generate</code>.</p>
            </Empty>
          : <ul class="shelf">
              {found.contents.map((x) => <Cover key={x.id} book={x} />)}
            </ul>}
      {found && <Older next={found.next_cursor} />}
    </>
  );
}

export function Older(props: { next: string | null }): JSX.Element | null {
  const cursor = query.value.get("cursor");
  if (!cursor && !props.next)
    return null;
  return (
    <nav class="pager" aria-label="Pages">
      {cursor && <button type="button" onClick={() =>
        setQuery({ cursor: null })}>Newest</button>}
      {props.next && <button type="button" onClick={() =>
        setQuery({ cursor: props.next })}>Older</button>}
    </nav>
  );
}

function drawn(book: Book): number {
  return book.pages.filter((x) => x.image !== null).length;
}

function Cover(props: { book: Book }): JSX.Element {
  const { book } = props;
  const first = book.pages.find((x) => x.image !== null)?.image;
  return (
    <li class="cover">
      <Link href={`/books/${book.id}`}>
        {first ? <Picture url={first.url} etag={first.etag} alt="" />
          : <span class="picture missing">No picture yet</span>}
        <span class="cover-title"><Text class="clamp" value={book.title} /></span>
      </Link>
      <p class="quiet"><StatusBadge status={book.status} />
        {" "}{drawn(book)} of {plural(book.page_count, "page")}</p>
      {book.status === "PROCESSING"
        && <Bar percent={book.progress.percent} label="Progress" />}
    </li>
  );
}

// -- one book -----------------------------------------------------------------

export function BookView(props: { id: string }): JSX.Element {
  const load = useLoad<Book>(`/api/contents/${encodeURIComponent(props.id)}`,
                             pulse);
  const book = load.data.value;
  if (!book)
    return (
      <>
        <Heading title="Book" />
        {load.error.value !== null ? <ErrorNote error={load.error.value} />
          : <Loading />}
      </>
    );
  return (
    <>
      <Heading title={book.title} lead={<>
        <Link href="/books">Books</Link> / <Id id={book.id} /></>} />
      <section class="panel state" aria-label="State">
        <div class="state-line">
          <StatusBadge status={book.status} />
          <span class="quiet">{drawn(book)} of {plural(book.page_count, "page")}
            {" "}drawn, ordered <Time at={book.created_at} />
            {book.user_id && <> by <Text value={book.user_id} /></>}</span>
          <Link href={`/jobs/${book.job_id}`}>Its job</Link>
        </div>
        {!isFinal(book.status) && (
          <div class="progress">
            <Bar percent={book.progress.percent} label="Progress" />
            <span class="progress-text"><b>{book.progress.percent} %</b>{" "}
              <Text value={book.progress.message} /></span>
          </div>
        )}
        {book.error_message && <pre class="error-text" tabIndex={0}
          aria-label="Error message"><Text value={book.error_message} /></pre>}
        <p class="prompt"><span class="quiet">Prompt:</span>{" "}
          <Text value={book.prompt} /></p>
      </section>
      {book.pages.length === 0
        ? <Empty title="Its text is not written yet" />
        : <ol class="pages">
            {book.pages.map((x) => <PageView key={x.number} page={x} />)}
          </ol>}
    </>
  );
}

function PageView(props: { page: Page }): JSX.Element {
  const { page } = props;
  return (
    <li class="page">
      {page.image
        ? <Picture url={page.image.url} etag={page.image.etag}
                   alt={`Picture of page ${page.number}`} />
        : <span class="picture missing">Not drawn yet</span>}
      <p class="page-text"><span class="page-number" aria-label={
        `Page ${page.number}`}>{page.number}</span>
        <Text value={page.text} /></p>
      {page.image?.model && <p class="quiet">by <Text
        value={page.image.model} /></p>}
    </li>
  );
}
