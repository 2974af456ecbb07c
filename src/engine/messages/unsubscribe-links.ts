import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import type { KeyedIds } from '../ids.ts';

/** Who stops receiving what. */
export interface Unsubscription {
  tenantNo: number;
  userId: string;
  kind: MessageKind;
}

export interface UnsubscribeLinks {
  /** A token for URLs. It does not expire: RFC 8058 expects old e-mails to work. */
  token(unsubscription: Unsubscription): string;
  /** What a token stands for; `null` if nobody signed it. */
  read(token: string): Unsubscription | null;
}

/** Tokens have indexes of this list, so it only grows at its end. */
const KINDS: readonly MessageKind[] = ['streak_reminder', 'achievement_completed', 'reactivation', 'recap'];
/** A user's ID has at most 255 characters. */
const LONGEST = 2_048;

/** The links of the installation, the same in all processes. */
export const unsubscribeLinksOf = (ids: Pick<KeyedIds, 'keyFor'>): UnsubscribeLinks =>
  createUnsubscribeLinks(ids.keyFor('links to unsubscribe').export());

/** Tokens signed with HMAC-SHA256. `key`: at least 32 random bytes. */
export function createUnsubscribeLinks(key: Buffer): UnsubscribeLinks {
  if (key.length < 32) throw new RangeError('The key for links needs at least 32 bytes');
  const derived = Buffer.from(hkdfSync('sha256', key, '', 'laurel unsubscribe links', 32));
  const signed = (content: string): Buffer => createHmac('sha256', derived).update(content).digest();
  return {
    token({ tenantNo, userId, kind }) {
      const content = Buffer.from(JSON.stringify([tenantNo, KINDS.indexOf(kind), userId])).toString('base64url');
      return `${content}.${signed(content).toString('base64url')}`;
    },
    read(token) {
      const [content = '', signature = '', ...more] = token.length > LONGEST ? [] : token.split('.');
      const bytes = Buffer.from(signature, 'base64url');
      const expected = signed(content);
      if (more.length > 0 || bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) return null;
      const [tenantNo, kindNo, userId] = JSON.parse(Buffer.from(content, 'base64url').toString()) as [
        number,
        number,
        string,
      ];
      const kind = KINDS[kindNo];
      return kind === undefined ? null : { tenantNo, userId, kind };
    },
  };
}
