import { CommandError } from '../command-error.ts';
import { addLines, cutUnfinished, jsonLines, textLines } from './json-lines.ts';
import { readGroups, type BoardGroups } from './read-groups.ts';
import { readUser, type ReadUser } from './read-user.ts';
import type { Report } from './report.ts';
import type { Source } from './source.ts';
import { fatalRefusal, SourceRefusal } from './source-refusal.ts';

/** So many users in a row that a source does not answer for: it is away. */
const MOST_AWAY = 3;

interface Reading {
  source: Source;
  /** File of user IDs, one a line. */
  users: string;
  /** Where the users go, one a line. */
  rows: string;
  systemKeys: readonly string[];
  boards: BoardGroups;
  report: Report;
  concurrency: number;
  /** Only the first of them; undefined: all. */
  sample: number | undefined;
  onProgress: (text: string) => void;
}

/**
 * Reads users from a source into a file of lines. Who is in it already is not asked for again; who cannot be read is reported, and
 * tried again by the next run. Ends the command where the source refuses the key, or does not answer any more.
 */
export async function readSource(reading: Reading): Promise<void> {
  const { source, rows, systemKeys, boards, report, onProgress } = reading;
  await cutUnfinished(rows);
  const read = new Set<string>();
  for await (const { value } of jsonLines(rows)) {
    const { id, attributes = {} } = value as ReadUser['user'];
    read.add(id);
    boards.see(attributes);
  }
  const wanted: string[] = [];
  for await (const id of textLines(reading.users)) {
    if (wanted.length === reading.sample) break;
    wanted.push(id);
  }
  const left = [...new Set(wanted)].filter((id) => !read.has(id));
  let [next, away, done] = [0, 0, wanted.length - left.length];
  const ask = (path: string): Promise<unknown> => source.ask(path);
  /** Users whose group on a board was not found among those of the users read before them. */
  const held: ReadUser[] = [];
  const keep = async ({ user, missing, unread }: ReadUser): Promise<void> => {
    // In this order a process that is killed between the two reads the user again, and no gap is forgotten.
    await report.add([
      { id: user.id, status: 'read', ...(missing.length > 0 && { missing }), ...(unread.length > 0 && { unread }) },
    ]);
    await addLines(rows, [user]);
  };
  /** Does what is left of reading a user; a refusal is reported, and one that no other request could help ends the command. */
  const attempt = async (userId: string, step: () => Promise<void>): Promise<void> => {
    try {
      await step();
      away = 0;
    } catch (error) {
      // What a server of another kind answers does not have the fields that are read.
      if (error instanceof TypeError) {
        const why = 'The source does not answer as the Application API does';
        await report.add([{ id: userId, status: 'unread', why }]);
      } else if (error instanceof SourceRefusal) {
        const fatal = fatalRefusal(error);
        if (fatal !== null) throw fatal;
        if (error.status === 0 || error.status >= 500) away += 1;
        await report.add([{ id: userId, status: 'unread', why: error.message }]);
      } else throw error;
    }
    done += 1;
    onProgress(`${done} of ${wanted.length} users read, ${source.requests} requests`);
  };
  const work = async (): Promise<void> => {
    while (next < left.length && away < MOST_AWAY) {
      const userId = left[next++]!;
      await attempt(userId, async () => {
        const one = await readUser(ask, { userId, systemKeys, boards, nowMs: Date.now() });
        if (one.ungrouped.length === 0) return keep(one);
        held.push(one);
        done -= 1;
      });
    }
  };
  await Promise.all(Array.from({ length: reading.concurrency }, work));
  for (const one of held) {
    if (away >= MOST_AWAY) break;
    const { id: userId, attributes = {} } = one.user;
    await attempt(userId, async () => {
      const { groups, ungrouped } = await readGroups(ask, boards, { userId, attributes });
      const lost = ungrouped.map(
        (key) => `leaderboards.${key}: the source ranks the user in a group of none of the users read`,
      );
      const user = Object.keys(groups).length > 0 ? { ...one.user, leaderboards: groups } : one.user;
      await keep({ ...one, user, missing: [...one.missing, ...lost] });
    });
  }
  if (away >= MOST_AWAY)
    throw new CommandError('The source does not answer any more. What was read is kept: run the same command again.');
}
