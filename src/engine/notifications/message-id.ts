import { hash } from 'node:crypto';
import type { NotificationType } from '../../domain/notification.ts';
import { uuidText } from '../../domain/uuid.ts';

const VERSION_8 = 0x80;
const VARIANT = 0x80;

/**
 * ID of the message that a notification becomes for a webhook: a UUID of version 8 (RFC 9562) from a SHA-256 of the
 * three, so that a message that is made again, after a crash or in another process, has the same. `source`: of the
 * notification.
 */
export function messageId({
  webhookId,
  type,
  source,
}: {
  webhookId: string;
  type: NotificationType;
  source: string;
}): string {
  const digest = hash('sha256', `${webhookId}\0${type}\0${source}`, 'buffer');
  digest[6] = (digest[6]! & 0x0f) | VERSION_8;
  digest[8] = (digest[8]! & 0x3f) | VARIANT;
  return uuidText(digest.toString('hex', 0, 16));
}
