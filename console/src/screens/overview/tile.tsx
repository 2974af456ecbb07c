import { Link } from '@tanstack/react-router';
import { changeText, number } from '../../ui/format.ts';
import type { AnalyticsSearch } from '../analytics/search.ts';

/** A figure of the last 7 days and of yesterday, each with that of a week before. */
export interface Compared {
  week: { now: number; before: number };
  yesterday: { now: number; before: number };
}

/** What a tile says below its figure. */
const linesOf = ({ week, yesterday }: Compared): string[] => [
  changeText(week.now, week.before),
  `Yesterday ${number(yesterday.now)}, a week before ${number(yesterday.before)}`,
];

interface TileProps {
  name: string;
  /** Of the figure, such as minutes. */
  unit?: string;
  shown: Compared | { figure: string; lines: readonly string[] } | undefined;
  search: AnalyticsSearch;
}

/** A figure that leads to its analysis. `shown`: the figure and lines below it; `undefined` while it is read. */
export const Tile = ({ name, unit = '', shown, search }: TileProps) => {
  const figure = shown === undefined ? '–' : 'figure' in shown ? shown.figure : number(shown.week.now);
  const lines = shown === undefined ? [] : 'lines' in shown ? shown.lines : linesOf(shown);
  return (
    <Link
      to="/analytics"
      search={search as never}
      className="flex min-h-22 flex-col rounded-lg border border-line bg-surface px-3 py-2 hover:bg-hover"
    >
      <span className="break-words text-muted">{name}</span>
      <span className="text-lg font-semibold">
        {figure} {unit !== '' && <span className="text-sm font-normal text-muted">{unit}</span>}
      </span>
      {lines.map((line) => (
        <span key={line} className="text-xs text-muted">
          {line}
        </span>
      ))}
    </Link>
  );
};
