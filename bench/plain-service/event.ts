/** The plain service's event; in a batch with its metric and idempotency key. */
export interface Event {
  user: { id: string; tz?: string | null; attributes?: Record<string, string> };
  value: number;
  attributes?: Record<string, string>;
  key?: string;
  idempotencyKey?: string;
}

const FIELDS = {
  user: {
    type: 'object',
    required: ['id'],
    properties: {
      id: { type: 'string', minLength: 1, maxLength: 255 },
      tz: { type: 'string' },
      attributes: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
  value: { type: 'number', minimum: -1e12, maximum: 1e12 },
  attributes: { type: 'object', additionalProperties: { type: 'string' } },
} as const;

export const EVENT = { type: 'object', required: ['user', 'value'], properties: FIELDS } as const;

export const BATCH = {
  type: 'array',
  maxItems: 1_000,
  items: {
    type: 'object',
    required: ['key', 'user', 'value'],
    properties: { ...FIELDS, key: { type: 'string' }, idempotencyKey: { type: 'string' } },
  },
} as const;
