import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import { NEUTRAL_FORMAT, type SentMessageFeedback } from '../../domain/notifications/message-feedback.ts';
import { AppError } from '../../errors.ts';
import { type AuditEntry, writeAudit } from '../../postgres/access/audit.ts';
import {
  deleteFeedback,
  type FeedbackRow,
  readFeedback,
  writeFeedback,
} from '../../postgres/notifications/message-feedback.ts';
import { transaction } from '../../postgres/transaction.ts';
import type { SignedTokens } from './signed-tokens.ts';

interface Of {
  tenantNo: number;
  by: Author;
}

/** The path at which mail providers report, followed by the token. */
const FEEDBACK_PATH = '/v1/messages/feedback';
const NONCE_BYTES = 16;

/** The addresses at which tenants' mail providers report bounces and complaints. */
export function createFeedbackSettings(pool: Pool, clock: Clock, tokens: SignedTokens, publicUrl: string | null) {
  /** Throws 404 if the tenant has no address. */
  async function get(tenantNo: number): Promise<FeedbackRow> {
    const row = await readFeedback(pool, tenantNo);
    if (row === null) throw missing();
    return row;
  }

  /** Creates the tenant's address, or changes its format or the address itself. Throws 409 without `PUBLIC_URL`. */
  async function put(
    { tenantNo, by }: Of,
    { format, rotate = false }: SentMessageFeedback,
  ): Promise<FeedbackRow & { url: string }> {
    if (publicUrl === null) throw new AppError('conflict', 'PUBLIC_URL is not set, so a provider cannot call Laurel');
    const row = await transaction(pool, async (client) => {
      const before = await readFeedback(client, tenantNo, { lock: true });
      const nowMs = clock.now();
      const after = {
        nonce: before === null || rotate ? randomBytes(NONCE_BYTES).toString('base64url') : before.nonce,
        format: format ?? before?.format ?? NEUTRAL_FORMAT,
      };
      const isNewFormat = !isDeepStrictEqual(before?.format, after.format);
      if (before !== null && !rotate && !isNewFormat) return before;
      const written = await writeFeedback(client, { tenantNo, ...after, nowMs });
      const changes: Pick<AuditEntry, 'before' | 'after'> = {
        ...(before !== null && isNewFormat && { before: { format: before.format } }),
        after: {
          ...(isNewFormat && { format: after.format }),
          ...(before !== null && rotate && { address: 'changed' }),
        },
      };
      const action = before === null ? 'create' : 'update';
      await writeAudit(client, { tenantNo, nowMs, by, entries: [{ action, kind: 'message_feedback', ...changes }] });
      return written;
    });
    return { ...row, url: `${publicUrl}${FEEDBACK_PATH}/${tokens.sign([tenantNo, row.nonce])}` };
  }

  /** Ends the tenant's address. Throws 404 if it has none. */
  const remove = ({ tenantNo, by }: Of): Promise<void> =>
    transaction(pool, async (client) => {
      if (!(await deleteFeedback(client, tenantNo))) throw missing();
      const entries: AuditEntry[] = [{ action: 'delete', kind: 'message_feedback' }];
      await writeAudit(client, { tenantNo, nowMs: clock.now(), by, entries });
    });

  return { get, put, delete: remove };
}

const missing = (): AppError => new AppError('not_found', 'The tenant has no address for reports about e-mails');
