const API_KEY = /^([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_\-+/=]{1,256})$/;

/** Prefixes of application keys begin with this; prefixes of admin keys do not. */
export const APPLICATION_KEY_START = 'app_';

/**
 * What a key may do. `all`: everything that keys of its kind may do. `read`: operations that change nothing. `events`: only
 * send events. `profile`: read and change the profile and preferences of the key's own user. Each operation names its scopes
 * in `Operation.keyScopes`.
 */
export const KEY_SCOPES = ['all', 'read', 'events', 'profile'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Splits an API key, `<prefix>.<body>`, into its public prefix and its secret body. `null` if the text is not a key. */
export function parseApiKey(text: string): { prefix: string; body: string } | null {
  const parts = API_KEY.exec(text);
  return parts === null ? null : { prefix: parts[1]!, body: parts[2]! };
}

/** Who makes a change, recorded in the audit log. */
export interface Author {
  who: string;
  address?: string | null;
  requestId?: string | null;
}
