// oxlint-disable-next-line no-restricted-imports -- how a call of an import is answered, which the CLI reads in the same way
import {
  MOST_BYTES,
  MOST_USERS,
  outcomesOf,
  type ImportAnswer,
  type Reported,
} from '../../../src/domain/import-outcomes.ts';
import { answer, Problem } from './answer.ts';
import { admin } from './client.ts';

/** No line of a user is longer; a file without line ends would fill the memory. */
const LONGEST_LINE = 8_000_000;
const TOO_LARGE = 413;
const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 10_000;

/** How far an import is. */
export interface ImportProgress {
  /** Bytes of the file that were read, and all. */
  bytes: number;
  size: number;
  users: number;
  /** Why the last call is being repeated; `null` if it is not. */
  waiting: string | null;
}

export interface ImportFile {
  file: Blob;
  /** Name of the import. */
  name: string;
  dryRun: boolean;
  signal: AbortSignal;
  onProgress: (progress: ImportProgress) => void;
  onReported: (reported: readonly Reported[]) => void;
}

type ImportedUser = { id: string };

/**
 * Imports the users of a file of JSON Lines, some in each call, and reports each. A call that is not answered is repeated, which
 * imports nobody twice. Rejects if the API refuses a call, or the signal is aborted.
 */
export async function importFile({ file, name, dryRun, signal, onProgress, onReported }: ImportFile): Promise<void> {
  const progress: ImportProgress = { bytes: 0, size: file.size, users: 0, waiting: null };
  let batch: ImportedUser[] = [];
  let batchBytes = 0;
  const send = async (users: readonly ImportedUser[]): Promise<Reported[]> => {
    try {
      const body = await patiently(
        () =>
          answer(
            // The file's lines are checked by the API, user by user.
            admin.POST('/v1/imports', { params: { query: { import: name, dryRun } }, body: users as never, signal }),
          ),
        { signal, onWaiting: (waiting) => onProgress({ ...progress, waiting }) },
      );
      return outcomesOf(users, body as ImportAnswer);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== TOO_LARGE) throw error;
      if (users.length === 1) return [{ id: users[0]!.id, status: 'refused', why: error.message }];
      const each: Reported[] = [];
      for (const user of users) each.push(...(await send([user])));
      return each;
    }
  };
  const flush = async (): Promise<void> => {
    if (batch.length > 0) onReported(await send(batch));
    progress.users += batch.length;
    [batch, batchBytes] = [[], 0];
    onProgress({ ...progress });
  };
  for await (const { no, text, bytes } of linesOf(file)) {
    signal.throwIfAborted();
    progress.bytes = bytes;
    const user = parsed(text);
    if (user === null) {
      onReported([{ id: `line ${no}`, status: 'refused', why: 'The line is no JSON object with an “id”.' }]);
      continue;
    }
    if (batch.length === MOST_USERS || batchBytes + text.length > MOST_BYTES) await flush();
    batch.push(user);
    batchBytes += text.length;
  }
  progress.bytes = file.size;
  await flush();
}

function parsed(text: string): ImportedUser | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof (value as ImportedUser | null)?.id === 'string' ? (value as ImportedUser) : null;
  } catch {
    return null;
  }
}

/** The lines of a file that are not empty, with the number of bytes that were read so far. */
async function* linesOf(file: Blob): AsyncGenerator<{ no: number; text: string; bytes: number }> {
  const reader = file.stream().getReader();
  // It removes a byte order mark.
  const decoder = new TextDecoder();
  let [rest, no, bytes] = ['', 0, 0];
  for (let ended = false; !ended;) {
    const { value, done } = await reader.read();
    ended = done;
    bytes += value?.byteLength ?? 0;
    const lines = (rest + decoder.decode(value, { stream: !done })).split('\n');
    rest = done ? '' : lines.pop()!;
    if (rest.length > LONGEST_LINE) throw new Problem(0, `Line ${no + lines.length + 1} is too long to be a user.`);
    for (const text of lines) {
      no += 1;
      if (text.trim() !== '') yield { no, text, bytes };
    }
  }
}

/** Repeats a call while the server does not answer, or is busy. */
async function patiently<T>(
  call: () => Promise<T>,
  { signal, onWaiting }: { signal: AbortSignal; onWaiting: (why: string) => void },
): Promise<T> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LAST_WAIT_MS, 2 * waitMs)) {
    try {
      return await call();
    } catch (error) {
      signal.throwIfAborted();
      const isPassing = error instanceof Problem && [0, 429, 503].includes(error.status);
      if (!isPassing) throw error;
      onWaiting(error.message);
      await new Promise((resolve) => void setTimeout(resolve, waitMs));
      signal.throwIfAborted();
    }
  }
}
