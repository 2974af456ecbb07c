import { dayAfter } from './format.ts';

interface Period {
  periodStart: string;
  periodEnd: string;
  length: number;
  usedFreeze?: boolean;
  usedPause: boolean;
  resetAt?: string;
}

const KINDS = {
  met: { text: 'met', look: 'bg-accent' },
  freeze: { text: 'excused by a freeze', look: 'bg-frost' },
  pause: { text: 'paused', look: 'bg-line-strong' },
  reset: { text: 'reset', look: 'bg-danger' },
  missed: { text: 'not met', look: 'bg-hover ring-1 ring-inset ring-line' },
} as const;
type Kind = keyof typeof KINDS;

function kindOf(period: Period): Kind {
  if (period.resetAt !== undefined) return 'reset';
  if (period.usedPause) return 'pause';
  if (period.usedFreeze === true) return 'freeze';
  return period.length > 0 ? 'met' : 'missed';
}

/** Days by weeks, or weeks or months in a row: which periods were met, excused or missed. */
export function StreakCalendar({ frequency, history }: { frequency: string; history: readonly Period[] }) {
  if (history.length === 0) return <p className="text-muted">No period yet.</p>;
  const rows = frequency === 'daily' ? 7 : 2;
  // Columns begin on Monday, so that weekdays align.
  const weekday = (new Date(`${history[0]!.periodStart}T00:00:00Z`).getUTCDay() + 6) % 7;
  const before = frequency === 'daily' ? weekday : 0;
  const met = history.filter((period) => kindOf(period) === 'met').length;
  return (
    <figure className="min-w-0">
      <div
        role="img"
        aria-label={`${met} of the last ${history.length} periods were met`}
        className="grid grid-flow-col gap-[3px] overflow-hidden [direction:rtl]"
        style={{ gridTemplateRows: `repeat(${rows}, 11px)`, gridAutoColumns: '11px' }}
      >
        {columnsFromTheEnd(history, before, rows).map(({ key, period }) =>
          period === null ? (
            <span key={key} />
          ) : (
            <span
              key={key}
              title={`${period.periodStart}${period.periodEnd === period.periodStart ? '' : ` to ${period.periodEnd}`}: ${KINDS[kindOf(period)].text}, streak ${period.length}`}
              className={`rounded-[2px] ${KINDS[kindOf(period)].look}`}
            />
          ),
        )}
      </div>
      <figcaption className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
        {(Object.keys(KINDS) as Kind[]).map((kind) => (
          <span key={kind} className="inline-flex items-center gap-1.5">
            <span className={`size-[11px] rounded-[2px] ${KINDS[kind].look}`} aria-hidden /> {KINDS[kind].text}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** Cells by column, newest column first, so that the oldest are cut off. */
function columnsFromTheEnd(history: readonly Period[], before: number, rows: number) {
  const first = history[0]!.periodStart;
  const cells = [
    ...Array.from({ length: before }, (_, index) => ({ key: dayAfter(first, index - before), period: null })),
    ...history.map((period) => ({ key: period.periodStart, period })),
  ];
  const columns = Array.from({ length: Math.ceil(cells.length / rows) }, (_, at) =>
    Array.from({ length: rows }, (__, row) => cells[at * rows + row] ?? { key: `after ${row}`, period: null }),
  );
  return columns.toReversed().flat();
}
