import type { HttpRequest } from './uws.ts';

/** What a browser presents instead of a key. */
export interface PresentedSession {
  token: string;
  /** The `X-CSRF-Token` header; '' where it was not sent. */
  csrfToken: string;
  /** Whether the request may change something, so that the header is needed. */
  changes: boolean;
}

/** A cookie that is to be set; null: the one that there is ends. */
export type SessionCookie = { token: string; expiresMs: number } | null;

const NAME = 'laurel_session';
const COOKIE = new RegExp(`(?:^|;)\\s*${NAME}=([\\w-]{1,64})\\s*(?:;|$)`);

/** The session in a request's cookie; null: there is none. `req` is valid only while it is handled. */
export function readSession(req: HttpRequest): PresentedSession | null {
  const token = COOKIE.exec(req.getHeader('cookie'))?.[1];
  if (token === undefined) return null;
  const method = req.getMethod();
  return { token, csrfToken: req.getHeader('x-csrf-token'), changes: method !== 'get' && method !== 'head' };
}

/** Whether the browser came by https, as a proxy in front says. Believed of anyone: it only makes the sender's own cookie stricter. */
export const cameByHttps = (req: HttpRequest): boolean => req.getHeader('x-forwarded-proto').startsWith('https');

/**
 * The `Set-Cookie` header: no script reads the cookie, no other site has it sent, and it lasts as long as the session.
 * @param options.secure only over https
 */
export function setCookie(cookie: SessionCookie, { secure, nowMs }: { secure: boolean; nowMs: number }): string {
  const seconds = cookie === null ? 0 : Math.max(0, Math.floor((cookie.expiresMs - nowMs) / 1000));
  const flags = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  return `${NAME}=${cookie?.token ?? ''}; ${flags}`;
}
