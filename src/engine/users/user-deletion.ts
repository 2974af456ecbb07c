import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import type { ApplicationKeys } from '../../postgres/access/application-keys.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import { type TenantPart, userKey } from '../../redis/keys.ts';
import { userPart } from '../../redis/parts.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import type { Asked, Scripts } from '../scripts.ts';

export interface UserDeletionOptions {
  redis: Redis;
  scripts: Scripts;
  keys: Pick<ApplicationKeys, 'deleteOf'>;
  /** The sorted sets of boards that may contain users of a tenant's part whose states do not name them. */
  setsOfBoards: (part: TenantPart) => Promise<string[]>;
  recordAudit: RecordAudit;
}

export class UserDeletion {
  private readonly options: UserDeletionOptions;

  constructor(options: UserDeletionOptions) {
    this.options = options;
  }

  /**
   * Deletes users, and returns those who existed. `by`, `span`: who asks for it, and the request's span. When it
   * resolves, the users are gone from all live reads and their application keys are refused; Postgres follows after the
   * earlier events. Later events, including those of waiting batches, belong to a new user without used idempotency
   * keys. Idempotent; after an error (503) some may be deleted.
   */
  async delete(tenantNo: number, userIds: readonly string[], { by, span }: Asked): Promise<string[]> {
    const { redis, scripts, setsOfBoards } = this.options;
    scripts.refuseOverload();
    const sets = new Map<TenantPart, string[]>();
    const deleted: string[] = [];
    for (const userId of userIds) {
      const part = userPart(redis, tenantNo, userId);
      if (!sets.has(part)) sets.set(part, await setsOfBoards(part));
      if (!(await this.deleteOne(part, userId, { sets: sets.get(part)!, span }))) continue;
      deleted.push(userId);
      const entry = { action: 'delete', kind: 'user', userId } as const;
      void this.options.recordAudit({ tenantNo, by, entries: [entry] });
    }
    return deleted;
  }

  private async deleteOne(
    part: TenantPart,
    userId: string,
    { sets, span }: { sets: string[]; span: Span | undefined },
  ): Promise<boolean> {
    const { redis, scripts, keys } = this.options;
    const { tenantNo } = part;
    // First, so that the user's own device cannot create the user again.
    const hadKeys = (await keys.deleteOf(tenantNo, userId)) > 0;
    const wasThere = (await redis.exists(userKey(part, userId))) === 1;
    const called = await scripts.callUser(tenantNo, { script: 'delete_user', userId, body: {}, keys: sets, span });
    const { reply, retried } = called!;
    return hadKeys || (retried ? wasThere : reply[kindField] === KIND.deletion);
  }
}
