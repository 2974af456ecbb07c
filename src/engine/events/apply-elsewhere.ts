/** Events of a batch whose users were merged into users of other shards after the batch was accepted. */
import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord, ScriptReply } from '../../packed/record.ts';
import { MERGED_INTO, REFUSAL, REPLAY } from '../../packed/refusal-fields.ts';
import type { QueuedBatch } from '../../redis/batches.ts';
import { knownPart } from '../../redis/parts.ts';
import { callsOnce } from '../changes/calls.ts';
import { type ReachedClock, recordEvents } from '../changes/record-events.ts';
import type { LateEvents } from '../corrections/late-events.ts';
import type { KeyedIds } from '../ids.ts';
import { ofMergedUser, withKey } from './prepared-event.ts';
import type { ReadyEvent } from './ready-event.ts';
import type { LookUpKeys } from './stored-replies.ts';

/** Pause before an event is tried again because its user is being merged. */
export const HELD_MS = 50;

export interface ApplyElsewhereOptions {
  redis: Redis;
  ids: KeyedIds;
  late: LateEvents;
  lookUpKeys: LookUpKeys;
  onWritten: (shard: number) => void;
  idempotencyKeysPerDay?: number;
  reached: ReachedClock;
}

/** An event at an index of the batch, and the user into whom its user was merged. `atMs`: when it happened; `null`: it has no time of its own. */
interface Elsewhere {
  event: ReadyEvent;
  index: number;
  atMs: number | null;
  into: string;
}

export type ApplyElsewhere = (batch: QueuedBatch, event: Elsewhere) => Promise<ScriptReply>;

export function createApplyElsewhere(options: ApplyElsewhereOptions): ApplyElsewhere {
  const { redis, ids, late, lookUpKeys, onWritten, idempotencyKeysPerDay = 0, reached } = options;

  /**
   * Applies an event on the shard of its user, once, although the step of its batch may be repeated: without an idempotency key of its own,
   * it gets one that names its place in the batch.
   */
  return async ({ tenantNo, shard, id, acceptedMs }, { event, index, atMs, into }) => {
    const submit = async (one: ReadyEvent): Promise<ScriptReply> => {
      const part = knownPart(redis, tenantNo, one.userId);
      const calls = callsOnce(redis, { onWritten: () => onWritten(part.shard) });
      const call = { nowMs: acceptedMs, keysPerDay: idempotencyKeysPerDay, reached };
      return (await recordEvents(calls, part, [one], call)).replies[0]!;
    };
    const hasKey = event.idempotency !== null;
    let ready = ofMergedUser(hasKey ? event : withKey(event, `batch:${shard}:${id}:${index}`), into, ids);
    for (;;) {
      const reply = atMs === null ? await submit(ready) : await late.submit(ready, atMs, submit);
      if (reply[kindField] === REFUSAL.merged) ready = ofMergedUser(ready, reply[MERGED_INTO.userId], ids);
      else if (reply[kindField] === REFUSAL.held) await sleep(HELD_MS);
      else if (reply[kindField] === REFUSAL.unknownUse)
        ready = (await lookUpKeys(tenantNo, [{ event: ready, asked: reply }]))[0]!;
      // An earlier try of the step applied it.
      else if (reply[kindField] === REFUSAL.replay && !hasKey)
        return {
          [kindField]: KIND.event,
          [RECORD.id]: ready.id,
          [RECORD.total]: reply[REPLAY.total],
        } as HappenedRecord;
      else return reply;
    }
  };
}
