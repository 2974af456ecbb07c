import type { HttpRequest } from './uws.ts';

/** The session that a browser presents instead of a key. */
export interface PresentedSession {
  token: string;
  /** The `X-CSRF-Token` header; `''` if absent. */
  csrfToken: string;
  /** Whether the request may change something, which requires the header. */
  changes: boolean;
}

/** A cookie to set; `null` deletes the existing one. */
export type SessionCookie = { token: string; expiresMs: number } | null;

const NAME = 'laurel_session';
const COOKIE = new RegExp(`(?:^|;)\\s*${NAME}=([\\w-]{1,64})\\s*(?:;|$)`);

/** The session in a request's cookie, or `null`. `req` is valid only during its handler. */
export function readSession(req: HttpRequest): PresentedSession | null {
  const token = COOKIE.exec(req.getHeader('cookie'))?.[1];
  if (token === undefined) return null;
  const method = req.getMethod();
  return { token, csrfToken: req.getHeader('x-csrf-token'), changes: method !== 'get' && method !== 'head' };
}

/** Whether a proxy reports that the browser used HTTPS. Trusted from anyone, because it only makes the sender's own cookie stricter. */
export const cameByHttps = (req: HttpRequest): boolean => req.getHeader('x-forwarded-proto').startsWith('https');

/**
 * The `Set-Cookie` header. Scripts cannot read the cookie, other sites cannot cause it to be sent, and it lasts as long as the session.
 * @param options.secure send it over HTTPS only
 */
export function setCookie(cookie: SessionCookie, { secure, nowMs }: { secure: boolean; nowMs: number }): string {
  const seconds = cookie === null ? 0 : Math.max(0, Math.floor((cookie.expiresMs - nowMs) / 1000));
  const flags = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  return `${NAME}=${cookie?.token ?? ''}; ${flags}`;
}
