/** JSON Pointer (RFC 6901), without its `-` for the end of a list. The empty one names the whole value. */
export const POINTER_PATTERN = '^(/([^~/]|~[01])*){0,10}$';

/** The value at a pointer; `undefined` if there is none. */
export function valueAt(value: unknown, pointer: string): unknown {
  let inner = value;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, key)) return undefined;
    inner = (inner as Record<string, unknown>)[key];
  }
  return inner;
}

/** Whether the value at a pointer is one of some texts, whatever their case. Numbers and booleans count as texts. */
export function isOneOf(value: unknown, pointer: string, texts: readonly string[]): boolean {
  const inner = valueAt(value, pointer);
  if (typeof inner !== 'string' && typeof inner !== 'number' && typeof inner !== 'boolean') return false;
  const text = String(inner).toLowerCase();
  return texts.some((each) => each.toLowerCase() === text);
}
