import type { Call } from '../../operation.ts';
import type { Services } from '../../services.ts';

/**
 * Has the audit log record a user whose profile or preferences an admin key changed: which fields were sent, never what
 * they hold. What users do with keys of their own is no administration, and is not recorded. Nobody waits for it.
 */
export function recordProfileChange(
  { recordAudit }: Pick<Services, 'recordAudit'>,
  { tenant, caller, by }: Pick<Call<unknown, unknown, unknown>, 'tenant' | 'caller' | 'by'>,
  { userId, sent }: { userId: string; sent: object },
): void {
  if (caller.kind !== 'admin') return;
  const fields = Object.keys(sent).filter((name) => name !== 'id');
  void recordAudit({
    tenantNo: tenant.no,
    by,
    entries: [{ action: 'update', kind: 'user', userId, after: { fields } }],
  });
}
