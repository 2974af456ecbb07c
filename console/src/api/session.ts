import { queryOptions, useQuery, type QueryClient } from '@tanstack/react-query';
import type { paths } from '../../generated/admin.ts';
import { setServerTime } from '../ui/server-time.ts';
import { answer, Problem } from './answer.ts';
import { admin, sent } from './client.ts';

export type Session = paths['/v1/session']['get']['responses'][200]['content']['application/json'];

const TENANT = 'laurel.tenant';

function begin(session: Session): Session {
  setServerTime(session);
  sent.csrfToken = session.csrfToken;
  sent.tenantId = session.tenantId ?? sessionStorage.getItem(TENANT);
  return session;
}

/** The current session; null if nobody is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: Infinity,
  retry: false,
  queryFn: async (): Promise<Session | null> => {
    try {
      return begin(await answer(admin.GET('/v1/session')));
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return null;
      throw error;
    }
  },
});

/** Whether the session may change anything: its key may be read-only. */
export const useMayChange = (): boolean => useQuery(sessionQuery).data?.access === 'full';

/** Signs in with a key, or with the token of a start's link. */
export async function signIn(credential: { key: string } | { token: string }, queries: QueryClient): Promise<void> {
  const session = await answer(admin.POST('/v1/session', { body: credential }));
  queries.setQueryData(sessionQuery.queryKey, begin(session));
}

/** Clears all cached data. */
export function forget(queries: QueryClient): void {
  sent.csrfToken = null;
  queries.setQueryData(sessionQuery.queryKey, null);
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
}

export async function signOut(queries: QueryClient): Promise<void> {
  await answer(admin.DELETE('/v1/session'));
  forget(queries);
}

/** Selects the tenant of all further requests. */
export async function chooseTenant(customerId: string | null, queries: QueryClient): Promise<void> {
  sent.tenantId = customerId;
  if (customerId === null) sessionStorage.removeItem(TENANT);
  else sessionStorage.setItem(TENANT, customerId);
  await queries.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
}
