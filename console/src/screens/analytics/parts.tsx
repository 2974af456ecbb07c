import type { UseQueryResult } from '@tanstack/react-query';
import { useMemo, type ReactNode } from 'react';
import { Chart } from '../../ui/chart.tsx';
import { type CalendarUnit, changeText, number } from '../../ui/format.ts';
import { Failed, Panel, Waiting } from '../../ui/parts.tsx';
import { CARD_CELL, CARD_ROW, useIsPhone } from '../../ui/table-frame.tsx';
import { CsvButton, type CsvRow } from './csv.tsx';

/** Shows a query's result, its progress, or its error. */
export function Read<T>({ query, children }: { query: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  if (query.isError) return <Failed error={query.error} retry={() => void query.refetch()} />;
  if (query.data === undefined) return <Waiting of="charts" />;
  return <div className="flex flex-col gap-4">{children(query.data)}</div>;
}

interface FiguresProps {
  of: readonly { name: string; now: number; before?: number; note?: string | undefined }[];
}

/** Figures side by side, with the change since the previous period, or with a note instead. */
export const Figures = ({ of }: FiguresProps) => (
  <dl className="grid grid-cols-2 gap-3 md:grid-cols-4">
    {of.map(({ name, now, before, note }) => (
      <div key={name} className="rounded-lg border border-line bg-surface px-3 py-2">
        <dt className="text-muted">{name}</dt>
        <dd className="text-lg font-semibold">{number(now)}</dd>
        {before !== undefined && <dd className="text-xs text-muted">{note ?? changeText(now, before)}</dd>}
      </div>
    ))}
  </dl>
);

interface SavedProps {
  title: string;
  file: string;
  rows: readonly CsvRow[];
  /** Explains omissions or the source of the figures. */
  note?: ReactNode;
  children: ReactNode;
}

/** A panel with something that can be saved as CSV. `file`: the file's name. */
export const Saved = ({ title, file, rows, note, children }: SavedProps) => (
  <Panel title={title} actions={<CsvButton name={file} rows={rows} />}>
    {children}
    {note !== undefined && <p className="mt-2 max-w-prose text-xs text-muted">{note}</p>}
  </Panel>
);

interface TimeChartProps<Row> {
  title: string;
  file: string;
  /** Of days, weeks or months. */
  rows: readonly Row[];
  /** The field of a row that is shown, and that of the previous period. */
  of: keyof Row;
  before?: keyof Row;
  note?: ReactNode;
  unit?: CalendarUnit;
}

/** A chart of days, weeks or months. `before`: the previous period, as a dashed line. */
export function TimeChart<Row extends CsvRow & { date: string }>(props: TimeChartProps<Row>) {
  const { title, file, rows, of, before, note, unit = 'day' } = props;
  const [x, y, earlier] = useMemo(() => {
    const valuesOf = (field: keyof Row): number[] => rows.map((row) => Number(row[field] ?? 0));
    const startOf = ({ date }: Row): number => Date.parse(`${date}T00:00:00Z`) / 1_000;
    return [rows.map(startOf), valuesOf(of), before && valuesOf(before)];
  }, [rows, of, before]);
  const isWhole = y.every(Number.isInteger);
  return (
    <Saved title={title} file={file} rows={rows} note={note}>
      <Chart bars whole={isWhole} unit={unit} label={title} x={x} y={y} {...(earlier && { before: earlier })} />
    </Saved>
  );
}

interface FigureTableProps {
  label: string;
  head: readonly string[];
  rows: readonly { key: string; cells: readonly ReactNode[] }[];
}

/** A table of figures whose columns have a name. On a phone its rows are cards. */
export function FigureTable({ label, head, rows }: FigureTableProps) {
  const isPhone = useIsPhone();
  const role = (name: string) => (isPhone ? { role: name } : {});
  const cell = (place: number): string =>
    isPhone ? CARD_CELL : `px-2 py-1.5 ${place > 0 ? 'text-right whitespace-nowrap' : 'min-w-32'}`;
  return (
    <div
      role="region"
      aria-label={label}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, and the keyboard must be able to
      tabIndex={0}
      className="overflow-x-auto"
    >
      <table {...role('table')} className={`w-full text-left ${isPhone ? 'block' : ''}`}>
        <thead {...role('rowgroup')} className={isPhone ? 'sr-only' : ''}>
          <tr {...role('row')}>
            {head.map((name, place) => (
              <th
                key={name}
                scope="col"
                {...role('columnheader')}
                className={`px-2 py-1 text-xs font-medium whitespace-nowrap text-muted ${place > 0 ? 'text-right' : ''}`}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody {...role('rowgroup')} className={isPhone ? 'block' : ''}>
          {rows.map(({ key, cells }) => (
            <tr key={key} {...role('row')} className={isPhone ? CARD_ROW : 'border-t border-line'}>
              {cells.map((shown, place) => (
                <td
                  key={head[place]}
                  {...role('cell')}
                  {...(isPhone && place > 0 && { 'data-label': head[place] })}
                  className={cell(place)}
                >
                  {shown}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A bar chart of the counts in some ranges. */
export function Distribution({ rows }: { rows: readonly { name: string; count: number }[] }) {
  const most = Math.max(1, ...rows.map(({ count }) => count));
  if (rows.every(({ count }) => count === 0)) return <p className="text-muted">Nothing in this period</p>;
  return (
    <ul className="flex flex-col gap-1">
      {rows.map(({ name, count }) => (
        <li key={name} className="relative flex justify-between gap-3 overflow-hidden rounded px-2 py-1">
          <span
            className="absolute inset-y-0 left-0 rounded bg-accent-soft"
            style={{ width: `${(count / most) * 100}%` }}
            aria-hidden
          />
          <span className="relative truncate">{name}</span>
          <span className="relative">{number(count)}</span>
        </li>
      ))}
    </ul>
  );
}
