import { Menu as BaseMenu } from '@base-ui/react/menu';
import type { ReactElement, ReactNode } from 'react';

/** A button that opens a list of actions. */
export function Menu({ trigger, children }: { trigger: ReactElement; children: ReactNode }) {
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner align="end" sideOffset={4} className="z-20 outline-none">
          <BaseMenu.Popup className="min-w-44 rounded-md border border-line bg-raised py-1 shadow-pop outline-none">
            {children}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

interface MenuItemProps {
  onClick: () => void;
  danger?: boolean;
  children: ReactNode;
}

export function MenuItem({ onClick, danger = false, children }: MenuItemProps) {
  return (
    <BaseMenu.Item
      onClick={onClick}
      className={`cursor-pointer px-3 py-1.5 text-sm outline-none data-highlighted:bg-hover ${danger ? 'text-danger' : ''}`}
    >
      {children}
    </BaseMenu.Item>
  );
}
