import { useEffect, useState } from 'react';

const TYPING_MS = 400;

/** A value that is typed, once it has not changed for a moment. */
export function useSettled<T>(value: T, afterMs = TYPING_MS): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), afterMs);
    return () => clearTimeout(timer);
  }, [value, afterMs]);
  return settled;
}
