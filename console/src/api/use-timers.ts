import { useEffect, useState } from 'react';

/** Named timers: a running one is not started again, and all end with the component. */
class Timers {
  private readonly running = new Map<string, ReturnType<typeof setTimeout>>();

  once(name: string, ms: number, call: () => void): void {
    if (this.running.has(name)) return;
    const end = (): void => {
      this.running.delete(name);
      call();
    };
    this.running.set(name, setTimeout(end, ms));
  }

  clear(): void {
    for (const timer of this.running.values()) clearTimeout(timer);
    this.running.clear();
  }
}

export function useTimers(): Timers {
  const [timers] = useState(() => new Timers());
  useEffect(() => () => timers.clear(), [timers]);
  return timers;
}
