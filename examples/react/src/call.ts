/** A refused call of the app's own server. */
export class CallError extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** Calls the app's own server. Rejects with a `CallError`, or with a `TypeError` if there is no connection. */
export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const answer = (await response.json()) as T & { code: string };
  if (!response.ok) throw new CallError(answer.code);
  return answer;
}
