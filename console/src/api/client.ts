import createClient, { type Middleware } from 'openapi-fetch';
import type { paths as AdminPaths } from '../../generated/admin.ts';
import type { paths as ApplicationPaths } from '../../generated/application.ts';

/** Headers of every request; signing in and choosing a tenant set them. */
export const sent = {
  csrfToken: null as string | null,
  tenantId: null as string | null,
  /** Called when an answer says that the session is over. */
  onSignedOut: (): void => undefined,
};

/** If set, receives the next request instead of sending it. */
let taking: ((request: Request) => void) | null = null;

const withSession: Middleware = {
  onRequest({ request }) {
    if (taking !== null) {
      taking(request);
      throw new Error('The request was taken, not sent.');
    }
    if (request.method !== 'GET' && sent.csrfToken !== null) request.headers.set('X-CSRF-Token', sent.csrfToken);
    if (sent.tenantId !== null) request.headers.set('Tenant-ID', sent.tenantId);
  },
  onResponse({ response }) {
    if (response.status === 401) sent.onSignedOut();
  },
};

/** The Admin API. */
export const admin = createClient<AdminPaths>({ baseUrl: '/' });
/** The Application API, as the admin port has it. */
export const application = createClient<ApplicationPaths>({ baseUrl: '/application' });
admin.use(withSession);
application.use(withSession);

/** A curl command that sends the first request of `call`, which is not sent. `call` must make it without waiting for anything. */
export async function curlOf(call: () => Promise<unknown>): Promise<string> {
  let taken: Request | null = null;
  taking = (request) => (taken ??= request);
  try {
    call().catch(() => undefined);
  } finally {
    taking = null;
  }
  const { method, url, headers } = taken! as Request;
  const body = await (taken! as Request).text();
  return curlCommand({ method, url, body, isJson: headers.get('Content-Type') === 'application/json' });
}

/** Quotes a text for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

function curlCommand({ method, url, body, isJson }: { method: string; url: string; body: string; isJson: boolean }) {
  const headers = [
    '-H "X-API-KEY: $LAUREL_KEY"',
    ...(sent.tenantId === null ? [] : [`-H ${quoted(`Tenant-ID: ${sent.tenantId}`)}`]),
    ...(isJson ? ['-H "Content-Type: application/json"'] : []),
  ];
  return [`curl -X ${method} ${quoted(url)}`, headers.join(' '), ...(body === '' ? [] : [`-d ${quoted(body)}`])].join(
    ' \\\n  ',
  );
}
