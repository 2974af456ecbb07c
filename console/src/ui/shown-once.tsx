import { Copy } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Sheet } from './dialogs.tsx';
import { useSay } from './toasts.tsx';

interface ShownOnceProps {
  title: string;
  secret: string | null;
  onClose: () => void;
  children: ReactNode;
}

/** A secret that the API shows only now. */
export function ShownOnce({ title, secret, onClose, children }: ShownOnceProps) {
  const say = useSay();
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(secret!);
    say('Copied.');
  };
  return (
    <Sheet open={secret !== null} onClose={onClose} title={title}>
      <p className="mb-2 text-muted">{children} It is shown this once: keep it.</p>
      <p className="rounded-md bg-hover px-3 py-2 font-mono text-sm break-all">{secret}</p>
      <div className="mt-3 flex justify-end gap-2">
        <Button onClick={() => void copy()}>
          <Copy size={14} aria-hidden /> Copy
        </Button>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Sheet>
  );
}
