import { parsedJson } from '../../../json.ts';
import type { FcmAccount } from './push-credentials.ts';
import { signedJwt } from './jwt.ts';
import { type ProviderHttp } from '../provider-http.ts';
import { reasonOf } from '../email-sender.ts';
import { at, later, textAt, unanswered } from './push-result.ts';
import type { PushResult } from './push-sender.ts';

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** The assertion names this address, wherever it is sent. The address in the key file is not used: an administrator could put any there. */
const AUDIENCE = 'https://oauth2.googleapis.com/token';
const ASSERTION_SECONDS = 3_600;
/** A token is renewed so long before its end. */
const MARGIN_MS = 300_000;
const TOO_MANY = 429;

interface GoogleAccessOptions {
  account: FcmAccount;
  http: ProviderHttp;
  /** Where tokens are asked for. */
  tokenUrl: URL;
  now: () => number;
}

/** Access tokens of a service account (RFC 7523). */
export class GoogleAccess {
  private readonly options: GoogleAccessOptions;
  private current: { token: string; untilMs: number } | null = null;
  private fetching: Promise<string | PushResult> | null = null;

  constructor(options: GoogleAccessOptions) {
    this.options = options;
  }

  /** A valid token, or the result of an attempt without one. Attempts that need one at the same time share a request. */
  async token(): Promise<string | PushResult> {
    if (this.current !== null && this.options.now() < this.current.untilMs) return this.current.token;
    this.fetching ??= this.fetch().finally(() => (this.fetching = null));
    return this.fetching;
  }

  /** Forgets a token that the provider did not accept. */
  refused(token: string): void {
    if (this.current?.token === token) this.current = null;
  }

  private async fetch(): Promise<string | PushResult> {
    const { account, http, tokenUrl, now } = this.options;
    const nowMs = now();
    const iat = Math.floor(nowMs / 1_000);
    const claims = { iss: account.clientEmail, scope: SCOPE, aud: AUDIENCE, iat, exp: iat + ASSERTION_SECONDS };
    const assertion = signedJwt(account.key, claims);
    const body = new URLSearchParams({ grant_type: GRANT, assertion }).toString();
    const answered = await http.post(tokenUrl, {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'application/json' },
      body,
    });
    // Even if this request arrived, no message was handed over.
    if (answered.status === null) return unanswered({ ...answered, handedOver: false });
    const { status, answer, retryAfterMs } = answered;
    const json = parsedJson(answer);
    const token = textAt(json, 'access_token');
    const seconds = at(json, 'expires_in');
    if (status === 200 && token !== null && /^[\x21-\x7E]+$/.test(token) && typeof seconds === 'number') {
      this.current = { token, untilMs: nowMs + Math.max(seconds * 1_000 - MARGIN_MS, (seconds * 1_000) / 2) };
      return token;
    }
    const details = textAt(json, 'error_description') ?? textAt(json, 'error') ?? '';
    const why = status >= 500 || status === TOO_MANY ? 'gave no access token' : 'refused the service account';
    const reason = reasonOf(`FCM ${why}: ${status} ${details}`, [assertion]);
    return later(reason, { concernsServer: true, retryAfterMs });
  }
}
