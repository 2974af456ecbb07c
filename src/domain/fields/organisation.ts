import { Type } from 'typebox';
import { KEY_SCOPES } from '../administration/author.ts';
import { CustomerId, RequestsPerSecond } from '../schemas.ts';
import { UserId } from '../user.ts';
import { field } from './field.ts';

const LONG_NAME = field(Type.String({ minLength: 1, maxLength: 255 }), {
  label: 'Name',
  description: 'Name for people.',
  required: true,
});

export const TENANT = {
  name: LONG_NAME,
  customerId: field(CustomerId, {
    label: 'Your own ID of it',
    description: 'Your own ID of the tenant, as the `Tenant-ID` header names it.',
    example: 'acme',
    required: true,
    form: { hint: 'What the header Tenant-ID holds' },
  }),
} as const;

export const ADMIN_KEY = {
  name: LONG_NAME,
  access: field(Type.Enum(['full', 'read']), {
    label: 'Access',
    description: 'Whether the key may do everything, or only read.',
    default: 'full',
  }),
  tenantId: field(Type.String({ maxLength: 255 }), {
    label: 'Only for the tenant',
    description: 'Your own ID of the only tenant that the key is for; null: it is for all.',
    example: 'acme',
    fixed: true,
    clearable: true,
    default: null,
    form: { hint: 'Your own ID of it; empty: all' },
  }),
  status: field(Type.Enum(['active', 'inactive']), {
    label: 'Status',
    description: 'An inactive key is refused.',
    default: 'active',
    onlyChanged: true,
    form: { hint: 'An inactive key is refused, and its sessions are over' },
  }),
} as const;

export const APPLICATION_KEY = {
  userId: field(UserId, {
    label: 'ID of the user',
    description: 'Your own ID of the user whose key it is.',
    example: '18',
    required: true,
    fixed: true,
  }),
  scope: field(Type.Enum([...KEY_SCOPES]), {
    label: 'Scope',
    description: 'What the key may do.',
    clearable: true,
    default: 'all',
    fixed: true,
  }),
  expiresAt: field(Type.String({ format: 'date-time' }), {
    label: 'Expires',
    description: 'From when on the key is refused; null: never.',
    clearable: true,
    default: null,
    fixed: true,
    form: { hint: 'The key is refused from then on; empty: never' },
  }),
  rateLimit: field(RequestsPerSecond, {
    label: 'Requests a second',
    description:
      'Requests a second of the key, with bursts of four seconds’ worth; 0: any number; null: the organisation’s limit.',
    clearable: true,
    default: null,
    fixed: true,
    form: { hint: '0: any number; empty: the organisation’s limit' },
  }),
} as const;
