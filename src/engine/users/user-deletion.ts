import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import type { Clock } from '../../clock.ts';
import type { Asked } from '../calls/asked.ts';
import type { ApplicationKeys } from '../../postgres/application-keys.ts';
import type { RecordAudit } from '../../postgres/audit/audit-trail.ts';
import { boardKeyPrefix, countersKey, outboxKey, pointsKeyPrefix, shardOf, userKey } from '../../redis/keys.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import { Script } from '../../redis/script.ts';
import { unpack } from '../../packed/state.ts';
import { eventId } from '../ids/event-id.ts';
import { refuseOverload } from '../calls/overload.ts';
import type { ScriptCalls } from '../calls/script-calls.ts';

export interface UserDeletionOptions {
  redis: Redis;
  /** The batcher's, so that both know the same of the outboxes. */
  calls: ScriptCalls;
  keys: Pick<ApplicationKeys, 'deleteOf'>;
  /** The sorted sets of a tenant's boards that may hold users whose states do not say so. */
  setsOfBoards: (tenantNo: number) => Promise<string[]>;
  recordAudit: RecordAudit;
  clock: Clock;
  /** Whether the outbox holds more than it may, so that nothing is taken. */
  overloaded: () => boolean;
}

/** Deletes users, with all that is held about them. */
export class UserDeletion {
  private readonly options: UserDeletionOptions;
  private readonly script = new Script('delete_user');

  constructor(options: UserDeletionOptions) {
    this.options = options;
  }

  /**
   * Deletes users; those who were there. `by`, `span`: whoever asks for it, and the request's span. When it resolves they are
   * gone from every live read and their application keys are refused; Postgres follows behind the events before it. What
   * comes after, batches that are waiting included, is of a new user, for whom no idempotency key is used. Idempotent;
   * after an error (503) some may be deleted.
   */
  async delete(tenantNo: number, userIds: readonly string[], { by, span }: Asked): Promise<string[]> {
    refuseOverload(this.options.overloaded);
    const sets = await this.options.setsOfBoards(tenantNo);
    const deleted: string[] = [];
    for (const userId of userIds) {
      if (!(await this.deleteOne(tenantNo, userId, { sets, span }))) continue;
      deleted.push(userId);
      const entry = { action: 'delete', kind: 'user', userId } as const;
      void this.options.recordAudit({ tenantNo, by, entries: [entry] });
    }
    return deleted;
  }

  private async deleteOne(
    tenantNo: number,
    userId: string,
    { sets, span }: { sets: string[]; span: Span | undefined },
  ): Promise<boolean> {
    const { redis, calls, keys, clock } = this.options;
    // First, so that the user's own device does not bring the user back.
    const hadKeys = (await keys.deleteOf(tenantNo, userId)) > 0;
    const user = userKey(tenantNo, userId);
    const wasThere = (await redis.exists(user)) === 1;
    let retried = false;
    const replies = await calls.run(tenantNo, {
      script: this.script,
      spans: span && [span],
      keysAndArgs: ({ nowMs, retryPosition }) => {
        retried = retryPosition !== '';
        return {
          keys: [outboxKey(shardOf(tenantNo)), countersKey(tenantNo), user, ...sets],
          args: [nowMs, tenantNo, boardKeyPrefix(tenantNo), pointsKeyPrefix(tenantNo), userId, eventId(clock.now())],
        };
      },
      // Deleting twice changes nothing the second time, so nothing has to be looked up.
      foundElsewhere: async () => false,
    });
    const reply = unpack(replies![0]!) as ScriptReply;
    return reply[kindField] === KIND.deletion || hadKeys || (retried && wasThere);
  }
}
