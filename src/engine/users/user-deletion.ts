import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import type { ApplicationKeys } from '../../postgres/access/application-keys.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import { userKey } from '../../redis/keys.ts';
import { KIND, kindField } from '../../packed/record-fields.ts';
import type { Asked, Scripts } from '../scripts.ts';

export interface UserDeletionOptions {
  redis: Redis;
  scripts: Scripts;
  keys: Pick<ApplicationKeys, 'deleteOf'>;
  /** The sorted sets of a tenant's boards that may contain users whose states do not name them. */
  setsOfBoards: (tenantNo: number) => Promise<string[]>;
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
    this.options.scripts.refuseOverload();
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
    const { redis, scripts, keys } = this.options;
    // First, so that the user's own device cannot create the user again.
    const hadKeys = (await keys.deleteOf(tenantNo, userId)) > 0;
    const wasThere = (await redis.exists(userKey(tenantNo, userId))) === 1;
    const called = await scripts.callUser(tenantNo, { script: 'delete_user', userId, body: {}, keys: sets, span });
    const { reply, retried } = called!;
    return hadKeys || (retried ? wasThere : reply[kindField] === KIND.deletion);
  }
}
