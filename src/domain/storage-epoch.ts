/*
Postgres stores a shard's outbox under the shard's storage epoch (`outbox_cursors.storage_epoch`). A persister that read the outbox
under another storage epoch stores nothing. It has one of three forms:

  ''                            no Redis was ever filled from this Postgres
  rebuild <epoch>               the shard is being rebuilt
  <epoch>/<Redis process ID>    the shard is complete in this Redis process
*/

/** The storage epoch of a shard that is complete in a Redis process. */
export const storageEpochOf = (epoch: number, redisProcessId: string): string => `${epoch}/${redisProcessId}`;

/** The storage epoch of a shard during its rebuild. */
export const rebuildingEpochOf = (epoch: number): string => `rebuild ${epoch}`;

const NUMBER = /^(?:rebuild )?(\d+)/;

/** The number of a storage epoch. Each rebuild increases it; 0 if the shard was never filled. */
export const epochNumberOf = (storageEpoch: string): number => Number(NUMBER.exec(storageEpoch)?.[1] ?? 0);

/** The Redis process in a storage epoch; `''` if there is none. */
export const redisProcessIdOf = (storageEpoch: string): string => storageEpoch.split('/')[1] ?? '';

/** Whether a storage epoch names a Redis process. Allocates nothing: each process checks 256 shards twice a second. */
export const isOfRedisProcess = (storageEpoch: string, redisProcessId: string): boolean =>
  storageEpoch.endsWith(redisProcessId) && storageEpoch.at(-redisProcessId.length - 1) === '/';

/** The part of a Redis process ID that a Lua function can read: Redis's `run_id`. */
export const runIdOf = (redisProcessId: string): string => redisProcessId.split('.')[0]!;
