// chart.tsx -- lines over time, with a legend that tells their values.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

import { shortCount } from "./format";
import { isDark } from "./theme";

export interface Line {
  label: string;
  /// A colour of style.css, e.g. `--ok`.
  colour: string;
  values: readonly (number | null)[];
  filled?: boolean;
}

interface ChartProps {
  title: string;
  unit?: string;
  /// In seconds.
  at: readonly number[];
  lines: readonly Line[];
  format?: (x: number) => string;
  /// Where the axis may have its lines; by default at round numbers.
  steps?: number[];
}

const height = 168;
/// What is shown, in seconds: all there is, within these bounds.
const leastSpan = 300;
const mostSpan = 3600;

export function Chart(props: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const hovered = useSignal<number | null>(null);
  const format = props.format ?? shortCount;
  const dark = isDark.value;

  useEffect(() => {
    const element = box.current!;
    const made = new uPlot(
      optionsFor(props, element.clientWidth, format,
                 (i) => { hovered.value = i; }),
      dataOf(props), element);
    plot.current = made;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0)
        made.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [dark, props.lines.map((x) => x.label).join()]);

  useEffect(() => {
    plot.current?.setData(dataOf(props));
  }, [props.at, props.lines]);

  const i = hovered.value ?? props.at.length - 1;
  const valueOf = (line: Line) => {
    const value = line.values[i];
    return value === null || value === undefined ? "–" : format(value);
  };
  const summary = props.lines.map((x) => `${x.label} ${valueOf(x)}`).join(", ");
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{props.title}
          {props.unit && <span class="quiet"> {props.unit}</span>}</span>
        <span class="legend">
          {props.lines.map((line) => (
            <span key={line.label} class={`legend-entry ${line.colour.slice(2)}`}>
              <i />{line.label} <b>{valueOf(line)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={box} class="plot" role="img"
           aria-label={`${props.title}, the last hour. Now: ${summary}`} />
    </figure>
  );
}

function dataOf(props: ChartProps): uPlot.AlignedData {
  return [props.at, ...props.lines.map((x) => x.values)] as
    unknown as uPlot.AlignedData;
}

function optionsFor(
  props: ChartProps, width: number, format: (x: number) => string,
  onHover: (i: number | null) => void,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const font = "11px Inter, system-ui, sans-serif";
  const grid = { stroke: colour("--line"), width: 1 };
  return {
    width: Math.max(width, 100),
    height,
    padding: [10, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: {
        range: (_, first, last) =>
          [last - Math.min(mostSpan, Math.max(leastSpan, last - first)), last],
      },
      y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1)] },
    },
    axes: [
      {
        stroke: colour("--muted"), font, grid: { show: false },
        ticks: { show: false }, size: 24, space: 72,
        values: (_, ticks) => ticks.map((x) =>
          new Date(x * 1000).toLocaleTimeString(
            "en-GB", { hour: "2-digit", minute: "2-digit" })),
      },
      {
        stroke: colour("--muted"), font, grid, ticks: { show: false },
        size: 46, space: 36, ...(props.steps ? { incrs: props.steps } : {}),
        values: (_, ticks) => ticks.map((x) => format(x)),
      },
    ],
    series: [
      {},
      ...props.lines.map((line) => ({
        label: line.label,
        stroke: colour(line.colour),
        width: 1.75,
        points: { show: false },
        ...(line.filled ? { fill: colour(line.colour) + "1f" } : {}),
      })),
    ],
    hooks: {
      setCursor: [(u) => onHover(u.cursor.idx ?? null)],
    },
  };
}
