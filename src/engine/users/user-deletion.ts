import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { COUNTER } from '../../packed/call-fields.ts';
import { QUARANTINED } from '../../packed/guard-fields.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { GoneRecord } from '../../packed/record.ts';
import type { ApplicationKeys } from '../../postgres/access/application-keys.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import { countersKey, quarantineKey, type TenantPart } from '../../redis/keys.ts';
import { userPart } from '../../redis/parts.ts';
import { type BoardSet, leaveSets } from '../../rules/hiding.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { type Block, countsOfUser, mapPart, movesPart } from '../changes/block.ts';
import { changeUser, type UserChange } from '../changes/change-user.ts';
import type { ReadUser } from '../changes/change-users.ts';
import { eventId } from '../ids.ts';
import { besideClearing, type IsCleared } from '../leaderboards/beside-clearing.ts';
import type { Asked, Scripts } from '../scripts.ts';
import { boardSetOf } from './hiding.ts';

export interface UserDeletionOptions {
  redis: Redis;
  scripts: Scripts;
  keys: Pick<ApplicationKeys, 'deleteOf'>;
  pool: Pool;
  clock: Clock;
  /** The sorted sets of boards that may contain users of a tenant's part whose states do not name them. */
  setsOfBoards: (part: TenantPart) => Promise<string[]>;
  recordAudit: RecordAudit;
}

export function createUserDeletion({
  recordAudit,
  redis,
  pool,
  scripts,
  setsOfBoards,
  keys,
  clock,
}: UserDeletionOptions) {
  /**
   * Deletes users, and returns those who existed. `by`, `span`: who asks for it, and the request's span. When it
   * resolves, the users are gone from all live reads and their application keys are refused; Postgres follows after the
   * earlier events. Later events, including those of waiting batches, belong to a new user without used idempotency
   * keys. Idempotent; after an error (503) some may be deleted.
   */
  async function remove(tenantNo: number, userIds: readonly string[], asked: Asked): Promise<string[]> {
    scripts.refuseOverload();
    return besideClearing({ redis, pool }, tenantNo, (isCleared) => deleteEach(tenantNo, userIds, isCleared, asked));
  }

  async function deleteEach(
    tenantNo: number,
    userIds: readonly string[],
    isCleared: IsCleared,
    { by, span }: Asked,
  ): Promise<string[]> {
    const sets = new Map<TenantPart, BoardSet[]>();
    const deleted: string[] = [];
    for (const userId of userIds) {
      const part = userPart(redis, tenantNo, userId);
      if (!sets.has(part))
        sets.set(
          part,
          (await setsOfBoards(part)).map((key) => boardSetOf(part, key)),
        );
      if (!(await deleteOne(part, userId, { isCleared, sets: sets.get(part)!, span }))) continue;
      deleted.push(userId);
      const entry = { action: 'delete', kind: 'user', userId } as const;
      void recordAudit({ tenantNo, by, entries: [entry] });
    }
    return deleted;
  }

  async function deleteOne(
    part: TenantPart,
    userId: string,
    { isCleared, sets, span }: Surroundings & { span: Span | undefined },
  ): Promise<boolean> {
    const { tenantNo } = part;
    // First, so that the user's own device cannot create the user again.
    const hadKeys = (await keys.deleteOf(tenantNo, userId)) > 0;
    const nowMs = clock.now();
    const id = eventId(nowMs);
    // A retry finds no user any more.
    let wasThere = false;
    const compute = (read: ReadUser): UserChange => {
      wasThere ||= read.packed !== null;
      return deletionOf(part, read, { userId, id, nowMs, isCleared, sets });
    };
    await changeUser(scripts, tenantNo, { userId, isGuarded: true, compute }, { span });
    return hadKeys || wasThere;
  }

  return { delete: remove };
}

interface Surroundings {
  isCleared: IsCleared;
  /** Sorted sets in which the user may be although the state does not name them. */
  sets: readonly BoardSet[];
}

/**
 * Deletes the state, the places on leaderboards, the user's part of the tenant's counts, and events in quarantine. Used idempotency keys
 * stay but count as unused, because a later user with the same ID has a newer generation; the workers remove them. It is recorded even
 * if there is no user, because Postgres may have rows of one.
 */
function deletionOf(
  part: TenantPart,
  { packed, generation, quarantine }: ReadUser,
  { userId, id, nowMs, isCleared, sets }: Surroundings & { userId: string; id: string; nowMs: number },
): UserChange {
  const user = packed === null ? null : decodeUser(packed);
  const counts: Block['counts'] = [];
  const fields: Block['fields'] = [];
  if (user !== null) {
    counts.push(...countsOfUser(part, user, { isCleared, sign: -1 }));
    const next = Math.max(Number(generation), user.generation ?? 0) + 1;
    fields.push({ key: countersKey(part), field: COUNTER.generation, before: generation, value: String(next) });
  }
  if (quarantine.events !== '') {
    const key = quarantineKey(part);
    fields.push({ key, field: userId, before: quarantine.events, value: '' });
    counts.push({ key, field: QUARANTINED.count, added: -quarantine.events.length / QUARANTINED.length });
  }
  const record: GoneRecord = {
    [kindField]: KIND.deletion,
    [RECORD.id]: id,
    [RECORD.userId]: userId,
    [RECORD.atMs]: nowMs,
    ...(user !== null && user.generation !== null && { [RECORD.generation]: user.generation }),
  };
  const block: Block = {
    userId,
    expected: packed,
    generation,
    state: user === null ? null : 'deleted',
    uses: [],
    counts,
    fields,
    records: [mapPart(record, null), movesPart(leaveSets(user, sets))],
  };
  return { block, reply: record, packed: null };
}
