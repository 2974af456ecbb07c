import type { SetAside } from '../../engine/persist/set-aside.ts';
import { moveShard } from '../../engine/shards/move-shard.ts';
import { readEnv } from '../../env.ts';
import { nameSetAside, nameUnreadable } from '../servers.ts';
import { progressBar } from '../output.ts';
import { withServers } from '../servers.ts';

/** Moves shards to the Redis of a name, one after another, saying how far it is. One that fails ends it: those before it are moved. */
export const runShardMove = (shards: readonly number[], to: string): Promise<void> =>
  withServers(
    async ({ redis, pool }) => {
      const onSetAside = ({ id, reason }: SetAside): void =>
        void process.stderr.write(
          `\nAn entry of the outbox could not be stored and is set aside as ${id}: ${reason}\n`,
        );
      const { acknowledgeMs } = readEnv(process.env);
      const onProgress = progressBar();
      for (const shard of shards) {
        const asked = { redis, pool, shard, to, acknowledgeMs, onProgress, onSetAside, onUnreadable: nameUnreadable };
        const { from, shutMs } = await moveShard(asked);
        process.stdout.write(
          from === null
            ? `Shard ${shard} is on "${to}" already.\n`
            : `\nShard ${shard} is on "${to}", and no more on "${from}". It was shut for ${(shutMs / 1000).toFixed(1)} s.\n`,
        );
      }
      await nameSetAside(pool);
    },
    // A move needs two of them.
    { shards: [] },
  );
