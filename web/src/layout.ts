/** Space for the labels of the value axis: the same in all charts, so that times stand above each other. */
export const AXIS_WIDTH = 74;
export const RIGHT_SPACE = 22;
