import { uuidText } from '../../domain/schemas.ts';
import type { KeyedIds } from '../ids.ts';
import { createSignedTokens, LONGEST_TOKEN } from './signed-tokens.ts';

/** A message of a tenant. */
export interface MessageOfTenant {
  tenantNo: number;
  /** UUID. */
  id: string;
}

/** The paths on the application port, each followed by a token. */
export const CLICK_PATH = '/clicked';
export const OPEN_PATH = '/opened';

/** The links of the installation, the same in all processes. */
export const trackingLinksOf = (ids: Pick<KeyedIds, 'keyFor'>): TrackingLinks =>
  createTrackingLinks(ids.keyFor('tracking of messages').export());

/**
 * Tokens for the paths by which e-mails report that they were opened and that a link was followed. They do not expire.
 * `key`: at least 32 random bytes. The address is part of the signed token, so a link leads only to the address that was in the
 * message, and needs no database. `clickToken` is `null` for an address that is not `https:` or too long.
 */
export function createTrackingLinks(key: Buffer) {
  const clicks = createSignedTokens(key, 'laurel clicks');
  const opens = createSignedTokens(key, 'laurel opens');
  return {
    clickToken({ tenantNo, id }: MessageOfTenant, url: string): string | null {
      const href = httpsUrl(url);
      if (href === null) return null;
      const token = clicks.sign([tenantNo, shortId(id), href]);
      return token.length > LONGEST_TOKEN ? null : token;
    },
    openToken: ({ tenantNo, id }: MessageOfTenant): string => opens.sign([tenantNo, shortId(id)]),
    /** The message and the `https:` address of a link; `null` if nobody signed it. */
    readClick(token: string): (MessageOfTenant & { url: string }) | null {
      const content = clicks.read(token) as [number, string, string] | null;
      return content === null ? null : { tenantNo: content[0], id: longId(content[1]), url: content[2] };
    },
    readOpen(token: string): MessageOfTenant | null {
      const content = opens.read(token) as [number, string] | null;
      return content === null ? null : { tenantNo: content[0], id: longId(content[1]) };
    },
  };
}

export type TrackingLinks = ReturnType<typeof createTrackingLinks>;

/** The address as a browser would send it, in ASCII without line breaks; `null` if it is not `https:`. */
function httpsUrl(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url?.protocol === 'https:' ? url.href : null;
}

/** A UUID in 22 characters. */
export const shortId = (id: string): string => Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
export const longId = (short: string): string => uuidText(Buffer.from(short, 'base64url').toString('hex'));
