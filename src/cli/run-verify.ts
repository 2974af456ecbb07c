import { PostgresIsOlder, readGaps } from '../engine/availability/inspection.ts';
import { verify } from '../engine/rebuild/verify.ts';
import { SHARD_NUMBERS } from '../redis/keys.ts';
import { nameSetAside, nameUnreadable } from './servers.ts';
import { EXIT } from './command-error.ts';
import { progressBar } from './output.ts';
import { withServers } from './servers.ts';

const MOST_SHOWN = 1_000;
const short = (text: string): string => (text.length > 120 ? `${text.slice(0, 117)}…` : text);

/** Compares Redis with Postgres and prints what differs; the exit code says whether anything does. */
export const runVerify = ({ shards = SHARD_NUMBERS }: { shards?: readonly number[] }): Promise<void> =>
  withServers(
    async ({ redis, pool }) => {
      // What differs then is what is left of what Postgres lost: no rebuild may be advised.
      const gaps = await readGaps(redis, pool, shards);
      if (gaps.length > 0) throw new PostgresIsOlder(gaps);
      let shown = 0;
      const differences = await verify({
        redis,
        pool,
        shards,
        onProgress: progressBar(),
        onUnreadable: nameUnreadable,
        onDifference: ({ key, part, redis: there, postgres: wanted }) => {
          if ((shown += 1) > MOST_SHOWN) return;
          const name = part === '' ? key : `${key}  ${part}`;
          process.stdout.write(`\n${name}\n  Redis:    ${short(there)}\n  Postgres: ${short(wanted)}\n`);
        },
      });
      process.stdout.write(
        differences === 0 ? '\nNo differences.\n' : `\n${differences} differences; \`laurel rebuild\` mends them.\n`,
      );
      await nameSetAside(pool);
      if (differences > 0) process.exitCode = EXIT.differs;
    },
    { shards },
  );
