import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { useEffect, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';

export interface Column<T> {
  id: string;
  header: string;
  cell: (row: T) => ReactNode;
  /** The value to sort by; without it the column is not sortable. */
  value?: (row: T) => string | number;
  align?: 'right';
  /** As narrow as its header: the other columns share the rest. */
  narrow?: boolean;
  /** Wraps instead of truncating. */
  wraps?: boolean;
  /** The header is only for screen readers. */
  unseen?: boolean;
  /** On a phone, a card shows it on request. */
  folds?: true;
  /** Left out on a phone if its rows are lines. */
  onlyWide?: boolean;
}

export type Order = 'asc' | 'desc';

/** Height of a row of one line, px. */
export const ROW = 36;
export const OVERSCAN = 12;
const WRAPS = 'min-w-40 max-w-md py-1.5 break-words';
const CUT = 'max-w-52 truncate';
/**
 * A row of a phone is a card: a line for each column, with its header, the first one without. What has no header stands in front
 * of the first line, or together in the last one.
 */
export const CARD_ROW = 'relative block border-b border-line p-3 last:border-b-0';
export const CARD_CELL =
  'flex items-baseline gap-4 py-0.5 break-words empty:hidden data-label:justify-between data-label:text-right data-label:before:shrink-0 data-label:before:text-xs data-label:before:text-muted data-label:before:content-[attr(data-label)]';
const CARD_FRONT = 'float-left mr-1';
const CARD_END = 'inline-flex align-middle empty:hidden';
const CARD_LINE = 24;
/** Height of a line on a phone with its link, px. */
const PHONE_ROW = 45;
/** Takes the width that the other cells of a line leave. */
const LINE_TITLE = 'w-full max-w-0 truncate';
const PHONE_HEAD =
  'flex flex-wrap items-center gap-x-4 border-b border-line px-3 before:text-xs before:text-muted before:content-["Sort_by"]';
const PHONE = matchMedia('(width < 48rem)');

export const useIsPhone = (): boolean =>
  useSyncExternalStore(
    (onChange) => {
      PHONE.addEventListener('change', onChange);
      return () => PHONE.removeEventListener('change', onChange);
    },
    () => PHONE.matches,
  );

interface TableFrameProps<T> {
  label: string;
  columns: readonly Column<T>[];
  count: number;
  /** `undefined` while it is loading. */
  rowAt: (index: number) => T | undefined;
  keyAt: (index: number) => string;
  /** The text of a heading, which spans the columns. */
  headingAt?: (index: number) => string | undefined;
  /** A column's current order; undefined if it is not sortable. */
  orderOf: (column: string) => Order | null | undefined;
  onSort: (column: string) => void;
  tall: boolean;
  /** Its rows are lines on a phone too, such as those of a ranking; the column after the first takes what width is left. */
  lines?: boolean;
  /** Called with the first and last row that are in the document. */
  onRange?: (first: number, last: number) => void;
  /** The initial scroll position and a function that stores it, px. */
  top?: { initial: number; keep: (top: number) => void };
}

/** A table of any length: only rows in view are in the document. On a phone its rows are cards, unless they are `lines`. */
export function TableFrame<T>({ lines = false, ...props }: TableFrameProps<T>) {
  const { label, count, rowAt, keyAt, headingAt, tall, onRange, top } = props;
  const frame = useRef<HTMLDivElement>(null);
  const isNarrow = useIsPhone();
  const isLine = isNarrow && lines;
  const isPhone = isNarrow && !lines;
  const columns = isLine ? props.columns.filter(({ onlyWide }) => onlyWide !== true) : props.columns;
  const first = isPhone ? firstLines(columns) : columns;
  const isFolded = first.length < columns.length;
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => (isPhone ? CARD_LINE * first.length : isLine ? PHONE_ROW : ROW),
    overscan: OVERSCAN,
    getItemKey: keyAt,
    initialOffset: top?.initial ?? 0,
  });
  const items = virtual.getVirtualItems();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const titleAt = columns.findIndex(({ unseen }) => unseen !== true);
  const hasTallRows = isNarrow || columns.some(({ wraps }) => wraps === true);
  const measured = hasTallRows || headingAt !== undefined ? virtual.measureElement : undefined;
  const role = (name: string) => (isPhone ? { role: name } : {});
  const from = items[0]?.index ?? 0;
  const to = items.at(-1)?.index ?? 0;
  useEffect(() => onRange?.(from, to), [from, to, count, onRange]);
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);

  return (
    <div
      ref={frame}
      role="region"
      aria-label={label}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, and the keyboard must be able to
      tabIndex={0}
      onScroll={({ currentTarget }) => top?.keep(currentTarget.scrollTop)}
      className={`relative overflow-auto rounded-lg border border-line bg-surface ${tall ? 'max-h-[calc(100dvh-11rem)]' : 'max-h-[max(32rem,70dvh)]'}`}
    >
      <table
        {...role('table')}
        className={`w-full border-separate border-spacing-0 text-left ${isPhone ? 'block' : ''}`}
        aria-rowcount={count}
      >
        <Head {...props} columns={columns} isPhone={isPhone} />
        <tbody {...role('rowgroup')} className={isPhone ? 'block' : ''}>
          {before > 0 && <Gap height={before} />}
          {items.map(({ index, key }) => {
            const row = rowAt(index);
            const heading = headingAt?.(index);
            if (heading !== undefined)
              return (
                <tr
                  key={String(key)}
                  data-index={index}
                  ref={measured}
                  {...role('row')}
                  className={isPhone ? 'block' : ''}
                >
                  <th
                    scope="rowgroup"
                    colSpan={columns.length}
                    {...role('rowheader')}
                    className={`border-b border-line bg-hover px-3 py-1.5 text-xs font-semibold ${isPhone ? 'block' : ''}`}
                  >
                    {heading}
                  </th>
                </tr>
              );
            return (
              <tr
                key={String(key)}
                data-index={index}
                ref={measured}
                aria-rowindex={index + 1}
                aria-busy={row === undefined}
                {...role('row')}
                className={isPhone ? CARD_ROW : 'group hover:bg-hover'}
              >
                {(opened.has(String(key)) ? columns : first).map((column, place) => (
                  <td
                    key={column.id}
                    {...role('cell')}
                    {...(isPhone && place > titleAt && !column.unseen && { 'data-label': column.header })}
                    className={
                      isPhone
                        ? `${cardCell(column, place < titleAt)} ${isFolded && place === titleAt ? 'mr-14' : ''}`
                        : `h-9 border-b border-line px-3 group-last:border-b-0 ${isLine && place === 1 ? LINE_TITLE : column.wraps ? WRAPS : CUT} ${column.align === 'right' ? 'text-right' : ''}`
                    }
                  >
                    {row !== undefined ? column.cell(row) : place === 0 && <span className="text-muted">…</span>}
                  </td>
                ))}
                {isFolded && row !== undefined && (
                  <td {...role('cell')} className="absolute top-0.5 right-2">
                    <button
                      type="button"
                      aria-expanded={opened.has(String(key))}
                      className="text-xs text-accent"
                      onClick={() => setOpened(toggled(opened, String(key)))}
                    >
                      {opened.has(String(key)) ? 'Less' : 'More'}
                    </button>
                  </td>
                )}
              </tr>
            );
          })}
          {after > 0 && <Gap height={after} />}
        </tbody>
      </table>
    </div>
  );
}

/** The columns that a card shows at first. */
const firstLines = <T,>(columns: readonly Column<T>[]): readonly Column<T>[] =>
  columns.filter(({ folds }) => folds !== true);

function toggled(keys: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const others = new Set(keys);
  if (!others.delete(key)) others.add(key);
  return others;
}

const cardCell = ({ unseen }: Pick<Column<never>, 'unseen'>, isFront: boolean): string =>
  isFront ? CARD_FRONT : unseen ? CARD_END : CARD_CELL;

type HeadProps<T> = Pick<TableFrameProps<T>, 'columns' | 'count' | 'orderOf' | 'onSort'> & { isPhone: boolean };

/** The headers. On a phone only those that sort are visible, if there is something to sort. */
function Head<T>({ columns, count, orderOf, onSort, isPhone }: HeadProps<T>) {
  const role = (name: string) => (isPhone ? { role: name } : {});
  const isShown = !isPhone || (count > 1 && columns.some(({ id }) => orderOf(id) !== undefined));
  return (
    <thead {...role('rowgroup')} className={`sticky top-0 z-10 bg-surface ${isPhone ? 'block' : ''}`}>
      <tr {...role('row')} className={isPhone ? (isShown ? PHONE_HEAD : 'sr-only') : ''}>
        {columns.map(({ id, header, align, narrow, unseen }) => {
          const order = orderOf(id);
          return (
            <th
              key={id}
              scope="col"
              {...role('columnheader')}
              aria-sort={!order ? undefined : order === 'asc' ? 'ascending' : 'descending'}
              className={
                isPhone
                  ? order === undefined
                    ? 'sr-only'
                    : 'text-xs font-medium text-muted'
                  : `h-9 border-b border-line px-3 text-xs font-medium whitespace-nowrap text-muted ${align === 'right' ? 'text-right' : ''} ${narrow ? 'w-px' : ''}`
              }
            >
              {order === undefined ? (
                <span className={unseen ? 'sr-only' : ''}>{header}</span>
              ) : (
                <button
                  type="button"
                  className="inline-flex items-center gap-1 hover:text-text"
                  onClick={() => onSort(id)}
                >
                  {header}
                  {order === 'asc' && <ArrowUp size={12} aria-hidden />}
                  {order === 'desc' && <ArrowDown size={12} aria-hidden />}
                </button>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** Fills the height of rows out of view. */
const Gap = ({ height }: { height: number }) => (
  <tr aria-hidden>
    {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label -- it is no control, and nobody hears of it */}
    <td style={{ height }} />
  </tr>
);
