import { Copy } from 'lucide-react';
import { Button } from './button.tsx';
import { useSay } from './toasts.tsx';

/** A long text and a button that copies it. */
export function CopyText({ label, children }: { label: string; children: string }) {
  const say = useSay();
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(children);
    say('Copied.');
  };
  return (
    <span className="flex items-start gap-2">
      <code className="min-w-0 grow rounded-md bg-hover px-2.5 py-1.5 font-mono text-xs break-all">{children}</code>
      <Button aria-label={`Copy: ${label}`} onClick={() => void copy()}>
        <Copy size={14} aria-hidden /> Copy
      </Button>
    </span>
  );
}
