import type { SetAside } from '../engine/persist/set-aside.ts';
import { rebuildServers } from '../engine/availability/accept.ts';
import { SHARD_NUMBERS } from '../redis/keys.ts';
import { nameSetAside, nameUnreadable } from './servers.ts';
import { progressBar } from './output.ts';
import { withServers } from './servers.ts';

/** Rebuilds Redis from Postgres, saying how far it is. `acceptLoss`: also from one that came back older. */
export const runRebuild = ({
  acceptLoss,
  shards = SHARD_NUMBERS,
}: {
  acceptLoss: boolean;
  shards?: readonly number[];
}): Promise<void> =>
  withServers(
    async ({ redis, pool }) => {
      const startedMs = performance.now();
      const onSetAside = ({ id, reason }: SetAside): void =>
        void process.stderr.write(
          `\nAn entry of the outbox could not be stored and is set aside as ${id}: ${reason}\n`,
        );
      const onProgress = progressBar();
      await rebuildServers({ redis, pool, shards, acceptLoss, onProgress, onSetAside, onUnreadable: nameUnreadable });
      const what =
        shards === SHARD_NUMBERS
          ? 'Redis is'
          : shards.length === 1
            ? `Shard ${shards[0]} is`
            : `Shards ${shards.join(', ')} are`;
      process.stdout.write(`\n${what} rebuilt, in ${((performance.now() - startedMs) / 1000).toFixed(1)} s.\n`);
      await nameSetAside(pool);
    },
    { shards },
  );
