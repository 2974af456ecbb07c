import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import type { KeyedIds } from '../ids.ts';
import { createSignedTokens } from './signed-tokens.ts';
import { longId, shortId } from './tracking-links.ts';

/** Who stops receiving what. */
export interface Unsubscription {
  tenantNo: number;
  userId: string;
  kind: MessageKind;
  /** The message with the link; `null` in links of older versions. */
  messageId: string | null;
}

/** Tokens have indexes of this list, so it only grows at its end. */
const KINDS: readonly MessageKind[] = ['streak_reminder', 'achievement_completed', 'reactivation', 'recap'];

/** The links of the installation, the same in all processes. */
export const unsubscribeLinksOf = (ids: Pick<KeyedIds, 'keyFor'>): UnsubscribeLinks =>
  createUnsubscribeLinks(ids.keyFor('links to unsubscribe').export());

/** Tokens for URLs. They do not expire: RFC 8058 expects old e-mails to work. `key`: at least 32 random bytes. */
export function createUnsubscribeLinks(key: Buffer) {
  const tokens = createSignedTokens(key, 'laurel unsubscribe links');
  return {
    token: ({ tenantNo, userId, kind, messageId }: Unsubscription): string =>
      tokens.sign([tenantNo, KINDS.indexOf(kind), userId, ...(messageId === null ? [] : [shortId(messageId)])]),
    /** What a token stands for; `null` if nobody signed it. */
    read(token: string): Unsubscription | null {
      const content = tokens.read(token) as [number, number, string, string?] | null;
      if (content === null) return null;
      const [tenantNo, kindNo, userId, id] = content;
      const kind = KINDS[kindNo];
      return kind === undefined ? null : { tenantNo, userId, kind, messageId: id === undefined ? null : longId(id) };
    },
  };
}

export type UnsubscribeLinks = ReturnType<typeof createUnsubscribeLinks>;
