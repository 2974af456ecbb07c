/** JSON Pointer (RFC 6901), without its `-` for the end of a list. The empty one names the whole value. */
export const POINTER_PATTERN = '^(/([^~/]|~[01])*){0,10}$';

/** The value at a pointer; `undefined` if there is none. */
export function valueAt(value: unknown, pointer: string): unknown {
  let found = value;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}

/** Whether the value at a pointer is one of some texts, whatever their case. Numbers and booleans count as texts. */
export function isOneOf(value: unknown, pointer: string, texts: readonly string[]): boolean {
  const found = valueAt(value, pointer);
  if (typeof found !== 'string' && typeof found !== 'number' && typeof found !== 'boolean') return false;
  const text = String(found).toLowerCase();
  return texts.some((each) => each.toLowerCase() === text);
}
