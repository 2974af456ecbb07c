import { setTimeout as sleep } from 'node:timers/promises';
import { AdminRefusal, askAdmin, type AdminOptions } from '../admin-api.ts';
import { jsonLines } from './json-lines.ts';
import type { Report, Reported } from './report.ts';

const MOST_USERS = 50;
const MOST_BYTES = 1_000_000;
/** The status of a request whose body is longer than is taken. */
const TOO_LARGE = 413;
/** Pauses (ms) before a call is tried again that was not answered, or refused for the moment. */
const PAUSES_MS = [500, 1_000, 2_000, 5_000, 10_000, 20_000];

interface Sending {
  admin: AdminOptions;
  /** Name of the import. */
  name: string;
  dryRun: boolean;
  /** File of users, one a line. */
  rows: string;
  report: Report;
  sample: number | undefined;
  onProgress: (text: string) => void;
}

interface Answer {
  users: { id: string; status: 'imported' | 'already' | 'ready' }[];
  issues: { id?: string; index?: number; severity: 'error' | 'warning'; message: string }[];
}

/**
 * Has users imported, some a call, and reports what became of each. Who was imported by a run before is not sent again; calls that
 * are not answered are repeated, which imports nobody twice. Ends the command where Laurel stays away.
 */
export async function sendUsers({ admin, name, dryRun, rows, report, sample, onProgress }: Sending): Promise<void> {
  let [some, bytes, done] = [[] as { id: string }[], 0, 0];
  /** What became of some users. One that is longer than this Laurel takes is refused alone, and ends nothing. */
  const sent = async (users: readonly { id: string }[]): Promise<Reported[]> => {
    try {
      return outcomesOf(users, await call(admin, { name, dryRun, users }));
    } catch (error) {
      if (!(error instanceof AdminRefusal) || error.status !== TOO_LARGE) throw error;
      if (users.length === 1) return [{ id: users[0]!.id, status: 'refused', why: error.message }];
      const each: Reported[] = [];
      for (const user of users) each.push(...(await sent([user])));
      return each;
    }
  };
  const flush = async (): Promise<void> => {
    if (some.length === 0) return;
    await report.add(await sent(some));
    done += some.length;
    [some, bytes] = [[], 0];
    onProgress(`${done} users ${dryRun ? 'tried' : 'sent'}`);
  };
  let taken = 0;
  for await (const { no, value } of jsonLines(rows)) {
    if (taken++ === sample) break;
    const id = (value as { id?: unknown } | null | undefined)?.id;
    if (typeof id !== 'string') {
      await report.add([{ id: `line ${no}`, status: 'refused', why: 'The line is no JSON object with an `id`.' }]);
      continue;
    }
    if (report.isDone(id)) continue;
    const size = Buffer.byteLength(JSON.stringify(value));
    if (some.length === MOST_USERS || bytes + size > MOST_BYTES) await flush();
    some.push(value as { id: string });
    bytes += size;
  }
  await flush();
}

function outcomesOf(sent: readonly { id: string }[], { users, issues }: Answer): Reported[] {
  const warnings = new Map<string, string[]>();
  for (const { id = '', severity, message } of issues)
    if (severity === 'warning') warnings.set(id, [...(warnings.get(id) ?? []), message]);
  return [
    ...users.map(({ id, status }) => ({ id, status, ...(warnings.has(id) && { missing: warnings.get(id)! }) })),
    ...issues
      .filter(({ severity }) => severity === 'error')
      .map(({ id, index = 0, message }) => ({
        id: id ?? sent[index]!.id,
        status: 'refused' as const,
        why: message,
      })),
  ];
}

async function call(
  admin: AdminOptions,
  { name, dryRun, users }: { name: string; dryRun: boolean; users: readonly object[] },
): Promise<Answer> {
  const path = `/v1/imports?import=${encodeURIComponent(name)}&dryRun=${dryRun}`;
  for (let tries = 0; ; tries += 1) {
    try {
      return (await askAdmin(admin, { method: 'POST', path, body: users })) as Answer;
    } catch (error) {
      const passes =
        error instanceof AdminRefusal && (error.status === 0 || error.status === 429 || error.status >= 500);
      if (!passes || tries === PAUSES_MS.length) throw error;
      await sleep(PAUSES_MS[tries]!);
    }
  }
}
