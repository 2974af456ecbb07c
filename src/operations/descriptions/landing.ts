import type { Operation } from '../operation.ts';
import { version } from '../../version.ts';

/** The version of the interface that the documents declare. */
export const INTERFACE_VERSION = '1.19.0';

/** The versions of the wire contract, which client libraries are written for. It is numbered apart from the interface. */
const CONTRACT_VERSIONS = ['1.21.1', '1.26.0'] as const;

type Surface = Operation['surface'];

const APIS: Readonly<Record<Surface, string>> = {
  application: 'The Application API takes events and answers what users have reached.',
  admin: 'The Admin API configures Laurel, and manages its keys, tenants and users.',
};

const AUTHENTICATION: Readonly<Record<Surface, string>> = {
  application: `Send a key in the header \`X-API-KEY\`. An application key stands for one user: it may send that user's events and read what the user may see. Your own servers may use an admin key, which stands for all users. Create keys with the Admin API.

In an organisation with several tenants, the header \`Tenant-ID\` names the tenant.`,
  admin: `Send an admin key in the header \`X-API-KEY\`. A key with \`access: "read"\` may call every GET. In an organisation with several tenants, the header \`Tenant-ID\` names the tenant; a key with a \`tenantId\` is for that tenant only.

The Application API is also on this port, below \`/application\`.`,
};

const IDEMPOTENCY: Readonly<Record<Surface, string>> = {
  application: `Send an event with an \`Idempotency-Key\`, a text of 1 to 255 characters that is unique to it. Laurel processes it once, for ever: a repeated request changes nothing, and its answer is 202 with \`idempotentReplayed: true\`. So after a timeout or a 503, send the same request again. A user may use 10,000 new keys a day.`,
  admin: `In \`POST /v1/metrics/events\` each event has its own \`idempotencyKey\`. Laurel processes an event with a key once, for ever, so a batch can be sent again after a timeout or a 503. Updates, deletions, imports, reversals and the configuration document can be repeated unchanged. Creating a resource again creates a second one, or is refused if its key is taken.`,
};

const RATE_LIMITS: Readonly<Record<Surface, string>> = {
  application: `Application keys of a user may together send 50 requests a second, with bursts of 200, unless the organisation or the key has another limit. Admin keys have none by default.`,
  admin: `Admin keys have no limit by default (\`ADMIN_RATE_LIMIT\`).`,
};

/** What holds of all operations of a surface, in Markdown: the first page of its reference. */
export const landingText = (
  surface: Surface,
): string => `${APIS[surface]} This is Laurel ${version()}, which implements version ${INTERFACE_VERSION} of the interface. The wire contract of client libraries is numbered separately: Laurel implements its versions ${CONTRACT_VERSIONS.join(' and ')}.

## Authentication

${AUTHENTICATION[surface]}

## Idempotency

${IDEMPOTENCY[surface]}

## Errors

Every error is JSON: \`error\` says what is wrong, for a person; \`code\` is stable, to branch on; \`hint\`, if there is one, says what may help. Every answer has the header \`X-Request-Id\`, which is also in Laurel's log. A request may bring its own: 1 to 64 letters, digits, \`_\` and \`-\`.

| Status | Meaning | Send again? |
| --- | --- | --- |
| 400, 422 | The request does not fit, or cannot be applied | after you corrected it |
| 401, 403 | The key is missing, not valid, or does not allow this | with another key |
| 404, 405 | There is no such path, method or resource | no |
| 409 | Not possible in the present state | after what \`error\` says |
| 413, 415, 431 | The body is too large or not declared as JSON; the headers are too large | after you corrected it |
| 429 | A limit is used up | after \`Retry-After\` seconds |
| 500 | Laurel has a fault | once |
| 503 | Not possible at the moment | after \`Retry-After\` seconds |

## Rate limits

${RATE_LIMITS[surface]} Answers to a limited key have \`X-RateLimit-Limit\` (the burst), \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (epoch seconds). A request over the limit is answered with 429 and \`Retry-After\`.
`;
