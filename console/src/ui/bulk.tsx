import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState, type ReactNode } from 'react';
import { useMayChange } from '../api/session.ts';
import { Button } from './button.tsx';
import { Confirm } from './dialogs.tsx';
import { counted, number } from './format.ts';
import type { Column } from './table-frame.tsx';
import { useSay } from './toasts.tsx';

/** Most rows that one action changes. */
export const MOST_SELECTED = 1_000;
/** Errors that are listed. */
const SHOWN = 20;

/** An action on the selected rows. */
export interface BulkAction<T> {
  label: string;
  danger?: boolean;
  /** An input below the question. */
  input?: ReactNode;
  /** Describes the action; `rows`: such as `2 users`. */
  about: (rows: string) => ReactNode;
  /** Most rows per call of `run`. */
  size: number;
  /** Applies the action to some rows. Resolves to the reasons why some are unchanged. */
  run: (rows: readonly T[]) => Promise<readonly string[]>;
  /** The message after the action. */
  done: (rows: string) => string;
  /** Whether it only reads, so that read-only sessions may use it. */
  reads?: boolean;
  /** Called when it is done, before the selection is cleared. */
  onDone?: () => void;
}

interface Selection<T> {
  rows: readonly T[];
  /** The checkbox column; none if the session has no action. */
  columns: readonly Column<T>[];
  set: (rows: readonly T[]) => void;
}

/** A selection of rows of a table. */
export function useSelection<T>(idOf: (row: T) => string, hasReadActions = false): Selection<T> {
  const [chosen, setChosen] = useState<ReadonlyMap<string, T>>(new Map());
  const isShown = useMayChange() || hasReadActions;
  const column: Column<T> = {
    id: 'select',
    header: 'Selected',
    unseen: true,
    cell: (row) => {
      const id = idOf(row);
      return (
        <label className="justify-center">
          <input
            type="checkbox"
            aria-label={`Select ${id}`}
            checked={chosen.has(id)}
            disabled={!chosen.has(id) && chosen.size >= MOST_SELECTED}
            onChange={({ target }) => {
              const next = new Map(chosen);
              if (target.checked) next.set(id, row);
              else next.delete(id);
              setChosen(next);
            }}
          />
        </label>
      );
    },
  };
  return {
    rows: [...chosen.values()],
    columns: isShown ? [column] : [],
    set: (rows) => setChosen(new Map(rows.map((row) => [idOf(row), row]))),
  };
}

interface BulkBarProps<T> {
  /** A row's name in the singular. */
  noun: string;
  selection: Selection<T>;
  actions: readonly BulkAction<T>[];
  /** Reads the first rows to select them. */
  readAll: (most: number) => Promise<readonly T[]>;
}

/** The actions on a selection, and their progress. */
export function BulkBar<T>({ noun, selection, actions, readAll }: BulkBarProps<T>) {
  const queries = useQueryClient();
  const say = useSay();
  const mayChange = useMayChange();
  const [asked, setAsked] = useState<BulkAction<T> | null>(null);
  const [done, setDone] = useState<number | null>(null);
  const [failures, setFailures] = useState<readonly string[]>([]);
  const [reading, setReading] = useState(false);
  // A second click may come before the button is drawn as disabled.
  const isRunning = useRef(false);
  const { rows } = selection;
  const shown = actions.filter(({ reads }) => mayChange || reads === true);
  if (shown.length === 0) return null;
  const run = async ({ size, run: runSome, done: doneText, onDone }: BulkAction<T>): Promise<void> => {
    if (isRunning.current) return;
    isRunning.current = true;
    const failed: string[] = [];
    setDone(0);
    try {
      for (let from = 0; from < rows.length; from += size) {
        failed.push(...(await runSome(rows.slice(from, from + size))));
        setDone(Math.min(rows.length, from + size));
      }
      onDone?.();
      const count = rows.length - failed.length;
      if (count > 0) say(doneText(counted(count, noun)));
      selection.set([]);
    } catch (error) {
      failed.push((error as Error).message);
    }
    isRunning.current = false;
    setFailures(failed);
    setDone(null);
    setAsked(null);
    await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
  };
  const selectAll = async (): Promise<void> => {
    setReading(true);
    try {
      selection.set(await readAll(MOST_SELECTED));
    } catch (error) {
      say((error as Error).message, 'problem');
    }
    setReading(false);
  };
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <Button disabled={reading} onClick={() => void selectAll()}>
          {reading ? 'Selecting …' : `Select all, up to ${number(MOST_SELECTED)}`}
        </Button>
        {rows.length > 0 && (
          <>
            <output className="font-medium">{number(rows.length)} selected</output>
            {shown.map((action) => (
              <Button
                key={action.label}
                look={action.danger === true ? 'danger' : 'plain'}
                onClick={() => setAsked(action)}
              >
                {action.label}
              </Button>
            ))}
            <Button look="bare" onClick={() => selection.set([])}>
              Clear the selection
            </Button>
          </>
        )}
      </div>
      {failures.length > 0 && (
        <div role="alert" className="rounded-md bg-danger-soft px-3 py-2 text-danger">
          <p className="font-medium">{number(failures.length)} unchanged:</p>
          <ul className="list-disc pl-5">
            {failures.slice(0, SHOWN).map((failure, index) => (
              // oxlint-disable-next-line react/no-array-index-key -- the list never changes
              <li key={index}>{failure}</li>
            ))}
          </ul>
          {failures.length > SHOWN && <p>and {number(failures.length - SHOWN)} more</p>}
        </div>
      )}
      <Confirm
        open={asked !== null}
        onClose={() => done === null && setAsked(null)}
        title={asked === null ? '' : `${asked.label}?`}
        action={done === null ? (asked?.label ?? '') : `${number(done)} of ${number(rows.length)} …`}
        busy={done !== null}
        onConfirm={() => void run(asked!)}
      >
        {asked?.about(counted(rows.length, noun))}
        {asked?.input}
      </Confirm>
    </>
  );
}
