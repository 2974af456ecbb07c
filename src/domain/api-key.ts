const API_KEY = /^([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_\-+/=]{1,256})$/;

/** With this the prefixes of application keys begin, and those of no admin key. */
export const APPLICATION_KEY_START = 'app_';

/**
 * What a key may do. `all`: everything that keys of its kind may. `read`: what changes nothing. `events`: send events, and
 * nothing else. `profile`: read and change the profile and preferences of the key's own user. An operation says which of
 * them it belongs to (`Operation.keyScopes`).
 */
export const KEY_SCOPES = ['all', 'read', 'events', 'profile'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** The two parts of an API key, `<prefix>.<body>`: the prefix may be read by anybody, the body is the secret. Null: it is none. */
export function parseApiKey(text: string): { prefix: string; body: string } | null {
  const parts = API_KEY.exec(text);
  return parts === null ? null : { prefix: parts[1]!, body: parts[2]! };
}
