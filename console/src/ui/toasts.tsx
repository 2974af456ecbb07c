import { Toast } from '@base-ui/react/toast';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';

/** Shows a passing message; an error stays until it is dismissed. */
export function useSay(): (text: string, kind?: 'done' | 'problem') => void {
  const { add } = Toast.useToastManager();
  return (text, kind = 'done') => {
    add({ title: text, type: kind, timeout: kind === 'problem' ? 0 : 4_000 });
  };
}

export function Toasts({ children }: { children: ReactNode }) {
  return (
    <Toast.Provider>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="fixed right-3 bottom-3 z-50 flex w-[min(24rem,calc(100vw-1.5rem))] flex-col gap-2">
          <Shown />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function Shown() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className={`flex items-start gap-2 rounded-md border bg-raised px-3 py-2 shadow-pop ${toast.type === 'problem' ? 'border-danger' : 'border-line'}`}
    >
      <Toast.Title
        className={`m-0 grow text-sm font-normal break-words ${toast.type === 'problem' ? 'text-danger' : ''}`}
      />
      <Toast.Close aria-label="Dismiss" className="rounded p-0.5 text-muted hover:bg-hover">
        <X size={14} />
      </Toast.Close>
    </Toast.Root>
  ));
}
