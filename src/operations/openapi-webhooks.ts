import { NOTIFICATION_EXAMPLES } from '../domain/notifications/examples.ts';
import { NOTIFICATION_PAYLOADS } from '../domain/notifications/payloads.ts';
import { WEBHOOK_EVENTS } from '../domain/notifications/webhook.ts';
import { describedSchema } from './descriptions/described.ts';
import { plainSchema } from './descriptions/examples.ts';
import { WEBHOOK_TEXTS } from './descriptions/webhook-texts.ts';

interface Header {
  name: string;
  required: boolean;
  description: string;
  schema: object;
  example: string;
}

const BODY_SIGNATURE = 'mGZP1Kxkd1R2gXqpU1pSh0C3Jt1b6Pz2cB1kz5mWc5M=';

const HEADERS: Readonly<Record<string, Header>> = {
  WebhookId: {
    name: 'webhook-id',
    required: true,
    description: 'ID of the message, the same on every try, so that receivers can ignore repetitions.',
    schema: { type: 'string', format: 'uuid' },
    example: '0190a5f2-7c3e-8b1a-9d3e-2f6b8c1d4e5f',
  },
  WebhookTimestamp: {
    name: 'webhook-timestamp',
    required: true,
    description: 'When this try began, in seconds since 1970. Receivers should refuse tries that are some minutes old.',
    schema: { type: 'string', pattern: '^\\d+$' },
    example: '1772443800',
  },
  WebhookSignature: {
    name: 'webhook-signature',
    required: true,
    description:
      'Signatures by Standard Webhooks 1.0, separated by spaces, each `v1,` and the Base64 of HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>` ' +
      'with the bytes that the secret’s Base64 stands for; after a rotation a second one with the previous secret for 24 hours.',
    schema: { type: 'string' },
    example: `v1,${BODY_SIGNATURE}`,
  },
  WebhookSequence: {
    name: 'webhook-sequence',
    required: true,
    description:
      'Increases with every message about a user to a webhook: a message with a smaller number than the last one is older.',
    schema: { type: 'string', pattern: '^\\d+$' },
    example: '4711',
  },
  LaurelSignature: {
    name: 'X-Laurel-Signature',
    required: true,
    description:
      'Base64 of HMAC-SHA256 of the body with the secret’s whole text. The webhook’s `header` gives it another name.',
    schema: { type: 'string' },
    example: BODY_SIGNATURE,
  },
  LaurelSignaturePrevious: {
    name: 'X-Laurel-Signature-Previous',
    required: false,
    description:
      'The same with the previous secret, for 24 hours after a rotation. Where the webhook has a `header`: that name and `-Previous`.',
    schema: { type: 'string' },
    example: BODY_SIGNATURE,
  },
};

export const webhookHeaders = (): Record<string, object> =>
  Object.fromEntries(Object.entries(HEADERS).map(([name, header]) => [name, { ...header, in: 'header' }]));

/** The webhooks of an OpenAPI document, derived from the schemas of their payloads. */
export function openapiWebhooks(): Record<string, object> {
  const parameters = Object.keys(HEADERS).map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return Object.fromEntries(
    WEBHOOK_EVENTS.map((type) => {
      const operationId = `webhooks_${type.replace('.', '_')}`;
      const schema = plainSchema(NOTIFICATION_PAYLOADS[type]);
      const content = {
        schema: describedSchema(schema, { operation: operationId, path: '', names: ['payload'] }),
        examples: { Example: { value: NOTIFICATION_EXAMPLES[type] } },
      };
      const post = {
        operationId,
        ...WEBHOOK_TEXTS[type],
        parameters,
        requestBody: { required: true, content: { 'application/json': content } },
        responses: {
          200: {
            description: 'Received; any 2xx counts. Anything else, or no answer within 60 seconds, is tried again.',
          },
          410: { description: 'No longer wanted: the webhook is disabled.' },
        },
        security: [],
      };
      return [type, { post }];
    }),
  );
}
