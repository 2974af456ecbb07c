import { useQueryClient } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
// oxlint-disable-next-line no-restricted-imports -- how a call of an import is answered, which the CLI reads in the same way
import { groupedReasons, type Reason, type Reported } from '../../../src/domain/import-outcomes.ts';
import { importFile, type ImportProgress } from '../api/import.ts';
import { useMayChange } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { Confirm, Discard } from '../ui/dialogs.tsx';
import { Labelled, TextInput } from '../ui/fields.tsx';
import { counted, number } from '../ui/format.ts';
import { bytes } from '../ui/measures.ts';
import { Empty, Failed, Panel, Screen, Shell } from '../ui/parts.tsx';
import { saveFile } from '../ui/save-file.ts';
import type { Column } from '../ui/table-frame.tsx';
import { DataTable } from '../ui/table.tsx';

type Status = Reported['status'];

const STATUSES: Partial<Record<Status, string>> = {
  ready: 'ready to import',
  imported: 'imported',
  already: 'imported before',
  skipped: 'skipped',
  refused: 'refused',
};
const EXAMPLE = `{"id": "ada", "name": "Ada", "metrics": {"flips": {"total": 120}}}
{"id": "ben", "achievements": [{"key": "first-steps", "achievedAt": "2026-03-01T10:00:00Z"}]}`;
/** Most users in the report that need attention. */
const MOST_KEPT = 10_000;
const NAMED = 3;

/** What a run is asked to do. */
interface Run {
  file: File;
  /** Of the import. */
  name: string;
  dryRun: boolean;
}

/** The result of a run so far. */
interface Result extends Run {
  counts: Partial<Record<Status, number>>;
  /** Users who need attention. */
  lines: Reported[];
  /** Number of further ones. */
  more: number;
  /** How the run ended; `null` while it goes on. */
  end: 'done' | 'stopped' | Error | null;
}

const needsAttention = ({ why, skipped = [], missing = [] }: Reported): boolean =>
  why !== undefined || skipped.length + missing.length > 0;

function added(result: Result, reported: readonly Reported[]): Result {
  const counts = { ...result.counts };
  for (const { status } of reported) counts[status] = (counts[status] ?? 0) + 1;
  const noted = reported.filter(needsAttention);
  const kept = noted.slice(0, Math.max(0, MOST_KEPT - result.lines.length));
  return { ...result, counts, lines: [...result.lines, ...kept], more: result.more + noted.length - kept.length };
}

/** Runs an import of a file in this page. */
function useImport() {
  const queries = useQueryClient();
  const [progress, setProgress] = useState<ImportProgress | null>(null);
  const [result, setResult] = useState<Result | null>(null);
  /** Stops the import that runs. */
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const run = async ({ file, name, dryRun }: Run): Promise<void> => {
    // A second click may come before the button is drawn as disabled.
    if (stop.current !== null) return;
    const controller = (stop.current = new AbortController());
    setResult({ file, name, dryRun, counts: {}, lines: [], more: 0, end: null });
    setProgress({ bytes: 0, size: file.size, users: 0, waiting: null });
    const end = (how: Result['end']): void => setResult((before) => before && { ...before, end: how });
    try {
      await importFile({
        file,
        name,
        dryRun,
        signal: controller.signal,
        onProgress: setProgress,
        onReported: (reported) => setResult((before) => before && added(before, reported)),
      });
      end('done');
    } catch (error) {
      end(controller.signal.aborted ? 'stopped' : (error as Error));
    }
    stop.current = null;
    if (!dryRun) await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
  };
  return { progress, result, run, stop: () => stop.current?.abort() };
}

/** Imports users with their history from a file: a dry run first, then the import, each with a report. */
export function Import() {
  const mayChange = useMayChange();
  const [file, setFile] = useState<File | null>(null);
  const [name, setName] = useState('');
  const [asked, setAsked] = useState(false);
  const { progress, result, run, stop } = useImport();
  const isRunning = result?.end === null;
  const blocked = useBlocker({ shouldBlockFn: () => isRunning, enableBeforeUnload: isRunning, withResolver: true });
  // Another file, or another name, may have other users who are ready.
  const isChecked = result?.dryRun === true && result.end === 'done' && result.file === file && result.name === name;
  const isComplete = file !== null && name !== '' && !isRunning;
  const choose = (chosen: File | undefined): void => {
    setFile(chosen ?? null);
    if (chosen) setName(chosen.name.replaceAll(/[^a-zA-Z\d\-_]/g, '-').slice(0, 64));
  };
  return (
    <Screen
      title="Import"
      about="Add users with their totals, streaks, points and achievements from another system. The file has one user as JSON on each line."
    >
      {mayChange && (
        <form
          className="flex max-w-3xl flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            void run({ file: file!, name, dryRun: true });
          }}
        >
          <Labelled label="File" hint="JSON Lines (.jsonl). It is read piece by piece, so it may be of any size.">
            <TextInput
              type="file"
              accept=".jsonl,.ndjson,.json,.txt"
              disabled={isRunning}
              onChange={({ target }) => choose(target.files?.[0])}
              className="max-w-xl py-1 file:mr-3 file:h-full file:rounded-md file:border file:border-solid file:border-line file:bg-hover file:px-3"
            />
          </Labelled>
          <Labelled
            label="Name of the import"
            hint="Under one name, each user is imported once. Use the same name to continue an import that stopped."
          >
            <TextInput
              className="max-w-80"
              required
              maxLength={64}
              pattern="[a-zA-Z0-9_\-]+"
              disabled={isRunning}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          </Labelled>
          <div className="flex flex-wrap gap-2">
            <Button type="submit" disabled={!isComplete}>
              Check the file
            </Button>
            <Button look="primary" disabled={!isComplete} onClick={() => setAsked(true)}>
              Import
            </Button>
            {isRunning && (
              <Button look="danger" onClick={stop}>
                Stop
              </Button>
            )}
          </div>
        </form>
      )}
      {progress !== null && result !== null && <Progress progress={progress} result={result} />}
      {result !== null && <Report result={result} />}
      {result === null && (
        <Empty title="What a file looks like">
          <Shell>{EXAMPLE}</Shell>
          <p className="mt-2">
            Check the file first: it shows what would be imported, and changes nothing. For a file on a server, or users
            of another server, use the command <code>laurel import</code>.
          </p>
        </Empty>
      )}
      <Confirm
        open={asked}
        onClose={() => setAsked(false)}
        title={`Import the users of ${file?.name ?? ''}?`}
        action="Import"
        onConfirm={() => {
          setAsked(false);
          void run({ file: file!, name, dryRun: false });
        }}
      >
        {isChecked ? `${counted(result.counts.ready ?? 0, 'user')} ready. ` : 'The file was not checked yet. '}
        Users who already exist stay unchanged. Nothing is announced, and no new points or achievements are awarded.
      </Confirm>
      <Discard
        open={blocked.status === 'blocked'}
        title="Stop the import?"
        action="Stop and leave"
        cancel="Stay"
        onKeep={() => blocked.reset?.()}
        onDiscard={() => blocked.proceed?.()}
      >
        It runs in this page. Users who are imported stay, and the same file and name continue it later.
      </Discard>
    </Screen>
  );
}

const ENDS = {
  true: { running: 'Checking', done: 'The file is checked. Nothing was changed.', stopped: 'The check was stopped.' },
  false: {
    running: 'Importing',
    done: 'The import is done.',
    stopped: 'The import was stopped. Users who were imported before stay.',
  },
} as const;

function Progress({ progress, result }: { progress: ImportProgress; result: Result }) {
  const { bytes: read, size, users, waiting } = progress;
  const { end, dryRun } = result;
  const texts = ENDS[`${dryRun}`];
  if (end instanceof Error) return <Failed error={end} />;
  return (
    <div role="status" className="flex max-w-3xl flex-col gap-1">
      <span className="font-medium">{end === null ? `${texts.running}: ${counted(users, 'user')}` : texts[end]}</span>
      {end === null && (
        <>
          <progress
            aria-label={texts.running}
            className="h-2 w-full accent-accent"
            max={Math.max(1, size)}
            value={read}
          />
          <span className="text-muted">
            {bytes(read)} of {bytes(size)}
            {waiting !== null && ` · ${waiting} Trying again …`}
          </span>
        </>
      )}
    </div>
  );
}

interface Row {
  why: string;
  users: string[];
}

const COLUMNS: readonly Column<Row>[] = [
  { id: 'why', header: 'Reason', cell: ({ why }) => why, wraps: true },
  {
    id: 'users',
    header: 'Users',
    align: 'right',
    value: ({ users }) => users.length,
    cell: ({ users }) => number(users.length),
  },
  { id: 'example', header: 'For example', cell: ({ users }) => users.slice(0, NAMED).join(', '), wraps: true },
];

const PARTS: readonly { title: string; of: (line: Reported) => readonly string[] }[] = [
  { title: 'Not imported', of: ({ why }) => (why === undefined ? [] : [why]) },
  { title: 'Left out', of: ({ skipped = [] }) => skipped.map(({ field, reason }) => `${field}: ${reason}`) },
  { title: 'Imported differently', of: ({ missing = [] }) => missing },
];

/** The number of users per result, and the reasons why some need attention. */
function Report({ result }: { result: Result }) {
  const { file, name, counts, lines, more, dryRun } = result;
  const parts = PARTS.map(({ title, of }) => {
    const reasons = lines.flatMap((line): Reason[] => of(line).map((why) => ({ id: line.id, why })));
    return { title, rows: groupedReasons(reasons) };
  }).filter(({ rows }) => rows.length > 0);
  return (
    <Panel
      title={<span className="break-all">Report of {file.name}</span>}
      actions={
        lines.length > 0 && (
          <Button
            onClick={() =>
              saveFile(
                `${name}.${dryRun ? 'check' : 'import'}-report.jsonl`,
                lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
              )
            }
          >
            Download
          </Button>
        )
      }
    >
      <dl className="mb-3 flex flex-wrap gap-x-6 gap-y-2">
        {Object.entries(STATUSES).map(([status, text]) => (
          <div key={status} className={counts[status as Status] === undefined ? 'hidden' : ''}>
            <dt className="text-xs text-muted">{text}</dt>
            <dd className="text-lg font-semibold">{number(counts[status as Status] ?? 0)}</dd>
          </div>
        ))}
      </dl>
      {result.end === 'done' && lines.length === 0 && <p className="text-muted">Every user is complete.</p>}
      {more > 0 && (
        <p className="mb-3 text-warn">
          The report has the first {number(MOST_KEPT)} users who need attention; {number(more)} more are only counted.
        </p>
      )}
      <div className="flex flex-col gap-4">
        {parts.map(({ title, rows }) => (
          <section key={title} className="flex flex-col gap-2">
            <h3 className="font-semibold">{title}</h3>
            <DataTable label={title} columns={COLUMNS} rows={rows} rowId={({ why }) => why} />
          </section>
        ))}
      </div>
    </Panel>
  );
}
