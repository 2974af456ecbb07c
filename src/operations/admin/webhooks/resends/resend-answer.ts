import type { NotificationType } from '../../../../domain/notification.ts';
import type { WebhookResend } from '../../../../domain/webhook-delivery.ts';
import type { Resend } from '../../../../postgres/webhooks/resends.ts';

const timeOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** A resend as it is answered. */
export const resendAnswer = ({ fromMs, toMs, types, requested, finished, ...resend }: Resend): WebhookResend => ({
  id: resend.id,
  status: resend.status,
  types: types as NotificationType[] | null,
  from: timeOf(fromMs),
  to: timeOf(toMs),
  resent: resend.resent,
  total: resend.total,
  requested: requested.toISOString(),
  finished: finished?.toISOString() ?? null,
});
