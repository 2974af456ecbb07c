import type { ErrorStatus } from '../errors.ts';
import type { Operation } from './operation.ts';

/** Headers of errors, and their JSON types. */
export const ERROR_HEADERS = {
  Allow: 'string',
  'Retry-After': 'integer',
  'X-RateLimit-Limit': 'integer',
  'X-RateLimit-Remaining': 'integer',
  'X-RateLimit-Reset': 'integer',
  'X-Request-Id': 'string',
} as const;

interface Refusal {
  description: string;
  /** Headers that such an answer always has. */
  headers: readonly (keyof typeof ERROR_HEADERS)[];
  /** Whether an operation can have this answer. */
  of: (operation: Operation) => boolean;
}

const always = (): boolean => true;
const withBody = ({ body }: Operation): boolean => body !== null;
/** Whether it takes a key, or a secret instead. */
const withKey = ({ scope, signsIn, opensStream }: Operation): boolean => scope !== 'public' || signsIn || opensStream;

/** All errors and the operations that can answer with them, for the OpenAPI documents. */
export const REFUSALS: Record<ErrorStatus, Refusal> = {
  400: { description: 'Malformed, or does not fit the schema', headers: [], of: always },
  401: { description: 'The API key is missing or invalid, or the session has ended', headers: [], of: withKey },
  403: { description: 'The API key does not allow this', headers: [], of: withKey },
  404: {
    description: 'Not found',
    headers: [],
    of: ({ scope, path }) => scope === 'tenant' || path.includes('{'),
  },
  405: { description: 'The path has no such method; `Allow` names those it has', headers: ['Allow'], of: always },
  409: {
    description: 'Not possible in the current state; the text says why',
    headers: [],
    of: ({ mayConflict }) => mayConflict,
  },
  413: { description: 'The body is too large', headers: [], of: withBody },
  415: { description: 'The body is not declared as JSON', headers: [], of: withBody },
  422: {
    description: 'Well-formed, but cannot be used',
    headers: [],
    // `Tenant-ID` is required if there are several tenants. The contract also lists it for a tenant by ID.
    of: ({ scope, path, query, body }) => scope === 'tenant' || path.includes('{') || query !== null || body !== null,
  },
  429: {
    description: 'Over the limit of requests, where one is set; try again after `Retry-After` seconds',
    headers: ['Retry-After', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
    of: withKey,
  },
  431: { description: 'Request line and headers are too long', headers: [], of: always },
  500: {
    description: 'Internal error; the log knows more under `X-Request-Id`',
    headers: ['X-Request-Id'],
    of: always,
  },
  503: {
    description: 'Not available at the moment; try again after `Retry-After` seconds',
    headers: ['Retry-After'],
    of: withKey,
  },
};

/** The error statuses that an operation can answer with, ascending. */
export const refusalsOf = (operation: Operation): ErrorStatus[] =>
  (Object.keys(REFUSALS).map(Number) as ErrorStatus[]).filter((status) => REFUSALS[status].of(operation));
