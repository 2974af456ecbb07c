import type { NotificationType } from '../../../../domain/notification.ts';
import type { WebhookResend } from '../../../../domain/webhook-delivery.ts';
import type { Resend } from '../../../../postgres/webhooks/resends.ts';

const timeOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** A resend as it is answered. */
export const resendAnswer = ({ id, parameters: { status, types, fromMs, toMs }, ...job }: Resend): WebhookResend => ({
  id,
  status,
  types: types as NotificationType[] | null,
  from: timeOf(fromMs),
  to: timeOf(toMs),
  resent: job.done,
  total: job.total,
  requested: job.requested.toISOString(),
  finished: job.finished?.toISOString() ?? null,
});
