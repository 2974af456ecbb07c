import createClient, { type Middleware } from 'openapi-fetch';
import type { paths as AdminPaths } from '../../generated/admin.ts';
import type { paths as ApplicationPaths } from '../../generated/application.ts';

/** What every request is sent with; set by who signs in and who chooses a tenant. */
export const sent = {
  csrfToken: null as string | null,
  tenantId: null as string | null,
  /** Called when an answer says that the session is over. */
  onSignedOut: (): void => undefined,
};

const withSession: Middleware = {
  onRequest({ request }) {
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
