import { Type } from 'typebox';
import { ResourceUrl, WebhookFilter } from '../schemas.ts';
import { WEBHOOK_EVENTS } from '../notifications/webhook.ts';
import { field, NAME } from './field.ts';

export const WEBHOOK = {
  name: NAME,
  url: field(Type.String({ ...ResourceUrl, minLength: 1 }), {
    label: 'URL',
    description: 'The address that messages are sent to. Keys that may only read see its host, and `/…` for the rest.',
    example: 'https://example.org/hooks',
    required: true,
    // Canonical: a lower-case ASCII host name, numeric addresses in their usual form (`http://0x7f.1` becomes `http://127.0.0.1/`).
    normalise: (url: string) => (URL.canParse(url) ? new URL(url).href : url),
    // Addresses of many services have a secret in their path.
    forReaders: hostOf,
    form: { hint: 'Begins with https:// (or http://). Laurel sends messages to this address as POST requests' },
  }),
  events: field(Type.Array(Type.Enum([...WEBHOOK_EVENTS]), { minItems: 1, uniqueItems: true }), {
    label: 'Events',
    description: 'The kinds of messages that the webhook gets.',
    required: true,
  }),
  filter: field(WebhookFilter, {
    label: 'Limit to',
    description: 'Which resources the webhook hears of; null: of all. A kind that it does not name is not restricted.',
    clearable: true,
    default: null,
    normalise: storedFilter,
    form: { hint: 'A list without a selection has no effect' },
  }),
  header: field(Type.String({ minLength: 1, maxLength: 64 }), {
    label: 'Signature header',
    description: 'Name of the header that carries the signature with the whole secret; null: `X-Laurel-Signature`.',
    example: 'X-Acme-Signature',
    clearable: true,
    default: null,
    form: {
      hint: 'Renames the header X-Laurel-Signature, which has the signature of the message. Enter a name, not a value.',
    },
  }),
  enabled: field(Type.Boolean(), {
    label: 'Send messages',
    description: 'Whether messages are sent.',
    default: true,
  }),
} as const;

/** Instead of the path and query of an address. */
const SHORTENED = '/…';
const SHORTENED_PATH = encodeURI(SHORTENED);

/** Whether an address is what `hostOf` shows of one. */
export const isShortened = ({ pathname }: URL): boolean => pathname === SHORTENED_PATH;

/** An address without its user, path and query. */
function hostOf(url: string): string {
  if (!URL.canParse(url)) return '…';
  const { origin, href } = new URL(url);
  return href === `${origin}/` ? href : `${origin}${SHORTENED}`;
}

/** A filter as it is stored: IDs in lower case; `null` if it names no kind. */
function storedFilter(sent: WebhookFilter): WebhookFilter | null {
  const lists = Object.entries(sent).map(([list, ids]) => [list, ids.map((id) => id.toLowerCase())] as const);
  return lists.length === 0 ? null : Object.fromEntries(lists);
}
